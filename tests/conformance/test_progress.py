"""What a run shows while it goes on: how many tests are left, and about how long."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from conformance.records.result import TestResult
from conformance.records.verdicts import Verdict
from conformance.session.cases import Case
from conformance.session.outcome import Outcome, attach
from conformance.session.progress import Progress
from tests.conformance.conftest import Kit
from tests.conformance.test_causes import ONE, OPEN

pytest_plugins = ["pytester"]


class Terminal:
    """Keeps what is written to it."""

    def __init__(self, *, isatty: bool) -> None:
        self.isatty = isatty
        self.showfspath = True
        self.currentfspath: object = None
        self.lines: list[str] = []
        self.changes: list[str] = []

    def write_line(self, line: str) -> None:
        self.lines.append(line)

    def line(self, text: str) -> None:
        self.lines.append(text)

    def rewrite(self, line: str, *, erase: bool) -> None:
        assert erase
        self.changes.append(line)


class Session:
    """A session of so many tests, whose clock is set by hand.

    Args:
        tests: how many there are.
        drawn: how many of them draw examples, the last ones.
        earlier: how many have a result from an earlier part of the run, the first ones.
        isatty: whether it is on a terminal.
    """

    def __init__(self, tests: int, *, drawn: int = 0, earlier: int = 0, isatty: bool = False) -> None:
        names = [f"t{number}" for number in range(tests)]
        self.cases = {
            name: Case(name, name, "mine", (ONE,), draws=number >= tests - drawn) for number, name in enumerate(names)
        }
        self.run = SimpleNamespace(planned=dict.fromkeys(names, ()), results=dict.fromkeys(names[:earlier]))
        self.terminal = Terminal(isatty=isatty)
        self.now = 0.0
        self._left = names[earlier:]
        recorder = SimpleNamespace(runs={"mine": self.run}, cases=self.cases)
        self.progress = Progress(cast("Any", recorder), cast("Any", self.terminal), clock=lambda: self.now)

    def end(self, seconds: float, count: int = 1, verdict: Verdict = Verdict.PASS) -> None:
        """Let tests end, one after the other, each after so many seconds."""
        for _ in range(count):
            name = self._left.pop(0)
            self.progress.pytest_runtest_logstart()
            self.now += seconds
            report = pytest.TestReport(name, (name, 0, name), {}, "passed", None, "teardown")
            result = TestResult(name, ("area.one",), verdict)
            self.run.results[name] = result
            attach(report, Outcome("mine", result))
            self.progress.pytest_runtest_logreport(report)


@pytest.fixture(autouse=True)
def outside_of_a_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)


def test_a_log_gets_a_line_for_each_tenth() -> None:
    session = Session(200)
    session.end(1.0, 200)
    assert session.terminal.lines[0] == "20 of 200 tests (10%); about 3 min 00 s left"
    assert session.terminal.lines[-2:] == ["180 of 200 tests (90%); about 20 s left", "200 of 200 tests (100%)"]
    assert len(session.terminal.lines) == 10
    assert session.terminal.changes == []


def test_a_fast_run_writes_little_and_guesses_nothing() -> None:
    session = Session(100)
    session.end(0.01, 100)
    assert session.terminal.lines == ["100 of 100 tests (100%)"]


def test_a_slow_run_says_each_minute_that_it_goes_on() -> None:
    session = Session(1_000)
    session.end(61.0, 3)
    assert session.terminal.lines == [
        f"{done} of 1,000 tests (0%); about {left} left"
        for done, left in ((1, "16 h 55 min"), (2, "16 h 54 min"), (3, "16 h 53 min"))
    ]


def test_a_terminal_gets_one_line_that_changes() -> None:
    session = Session(50, isatty=True)
    session.end(0.03, 50)
    session.progress.pytest_sessionfinish()
    assert session.terminal.lines == [""]
    assert session.terminal.changes[-1] == "50 of 50 tests (100%)"
    assert 10 < len(session.terminal.changes) < 20  # not with each test


def test_a_service_with_a_terminal_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    session = Session(10, isatty=True)
    session.end(0.1, 10)
    assert session.terminal.changes == []
    assert session.terminal.lines == ["10 of 10 tests (100%)"]


def test_tests_that_draw_examples_count_for_several() -> None:
    plain, drawn = Session(100), Session(100, drawn=10)
    for session in (plain, drawn):
        session.end(1.0, 50)
    assert plain.progress.line().endswith("about 50 s left")
    assert drawn.progress.line().endswith("about 3 min 10 s left")  # 40 and 10 times 15


def test_what_an_earlier_part_has_finished_is_not_counted() -> None:
    session = Session(100, earlier=60)
    session.end(1.0, 10)
    assert session.progress.line() == "10 of 40 tests (25%); about 30 s left"


def test_failures_are_counted_as_they_come() -> None:
    session = Session(6)
    session.cases["t4"] = Case("t4", "t4", "mine", (OPEN,))
    for verdict in (Verdict.PASS, Verdict.FAIL, Verdict.CRASH, Verdict.FAIL, Verdict.FAIL):
        session.end(0.1, verdict=verdict)
    assert session.progress.line() == "5 of 6 tests (83%), 2 fail, 1 crash"


def _lines(lines: Iterable[str]) -> list[str]:
    return [line for line in lines if " tests (" in line]


def test_the_command_shows_it_instead_of_letters(kit: Kit) -> None:
    kit.tests("""
        @requirement("alpha.one")
        @pytest.mark.parametrize("number", range(7))
        def test_one(impl, number): expect(number < 5, "they are few", number)

        def test_of_somebody_else(): ...
    """)
    of_run = ("-p", "conformance.cli.suites_of_run", "test_it.py")
    result = kit.run(*of_run)
    assert _lines(result.outlines) == ["7 of 7 tests (100%), 2 fail"]
    assert not any(line.startswith("test_it.py ") for line in result.outlines)
    result.assert_outcomes(passed=6, failed=2)
    assert _lines(kit.run("test_it.py").outlines) == []
    verbose = kit.run(*of_run, "-v").outlines
    assert _lines(verbose) == []
    assert any(line.startswith("test_it.py::test_one[fake-6] FAILED") for line in verbose)
