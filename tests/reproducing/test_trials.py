"""Each script is run alone, and what that shows is judged by what its test said."""

from __future__ import annotations

import time

import pytest

from conformance.records.result import TestResult
from conformance.records.verdicts import Verdict
from conformance.reproducing.alone import Ending
from conformance.reproducing.trials import Reproduction, judged, try_scripts


def result(name: str = "t", script: str = "", verdict: Verdict = Verdict.FAIL, **more: object) -> TestResult:
    known = {"expected": "a replay runs 2 nodes", "seen": "RuntimeError: no pool at 0x7f12", **more}
    return TestResult(name, ("a.b",), verdict, reproducer=script, message="m", **known)  # type: ignore[arg-type]


def tried(*results: TestResult, seconds: float = 300.0, processes: int = 2) -> dict[str, Reproduction]:
    outcomes: dict[str, Reproduction] = {}
    try_scripts(results, seconds, processes, lambda entry, reproduction: outcomes.update({entry.test: reproduction}))
    return outcomes


@pytest.mark.parametrize(
    ("ending", "verdict", "outcome"),
    [
        (Ending(1, "AssertionError", "expected: a replay runs 2 nodes\nseen: 1"), Verdict.FAIL, "shown"),
        (Ending(1, "RuntimeError", "no pool at 0x7fff"), Verdict.FAIL, "shown"),
        (Ending(1, "AssertionError", "expected: another thing\nseen: 1"), Verdict.FAIL, "otherwise"),
        (Ending(1, "TypeError", "no pool at 0x7f12"), Verdict.FAIL, "otherwise"),
        (Ending(1, "AssertionError"), Verdict.FAIL, "otherwise"),
        (Ending(0), Verdict.FAIL, "passed"),
        (Ending(0), Verdict.CRASH, "passed"),
        (Ending(-11), Verdict.CRASH, "shown"),
        (Ending(-11), Verdict.FAIL, "otherwise"),
        (Ending(None), Verdict.TIMEOUT, "shown"),
    ],
)
def test_what_an_ending_shows(ending: Ending, verdict: Verdict, outcome: str) -> None:
    reproduction = judged(result(verdict=verdict), ending)
    assert reproduction is not None
    assert reproduction.outcome == outcome


def test_a_script_without_time_shows_nothing() -> None:
    assert judged(result(verdict=Verdict.FAIL), Ending(None)) is None


def test_a_waived_failure_is_judged_by_what_it_came_to() -> None:
    waived = result(verdict=Verdict.WAIVED, waiver={"verdict": "timeout", "reason": "r"})
    reproduction = judged(waived, Ending(None))
    assert reproduction is not None
    assert reproduction.outcome == "shown"


def test_what_is_left_open_shows_what_was_left_behind() -> None:
    left = result(expected=None, seen=None, left_behind="the current stream is left capturing")
    ending = Ending(1, "AssertionError", "the current stream is left capturing")
    assert judged(left, ending).outcome == "shown"


def test_scripts_are_run_apart() -> None:
    outcomes = tried(
        result("kills itself", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)", Verdict.CRASH),
        result("fails", "raise AssertionError('expected: a replay runs 2 nodes')"),
        result("reads", "import sys; assert not sys.stdin.read()"),
        result("prints", "print('{}', flush=True)"),
        result("ends badly", "import atexit, os; atexit.register(os.abort)", Verdict.CRASH),
        result("is no Python", "("),
        processes=1,
    )
    assert {name: outcome.outcome for name, outcome in outcomes.items()} == {
        "kills itself": "shown",
        "fails": "shown",
        "reads": "passed",
        "prints": "passed",
        "ends badly": "shown",
        "is no Python": "otherwise",
    }
    assert outcomes["fails"].why == "AssertionError: expected: a replay runs 2 nodes"


def test_no_script_is_waited_for_longer_than_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conformance.reproducing.trials._START_S", 4.0)
    begun = time.monotonic()
    outcomes = tried(
        result("hangs", "import time; time.sleep(300)", Verdict.TIMEOUT),
        result("is next", "", Verdict.FAIL),
        processes=1,
    )
    assert [outcome.outcome for outcome in outcomes.values()] == ["shown", "passed"]
    assert time.monotonic() - begun < 60


def test_what_there_is_no_time_for_is_left() -> None:
    assert tried(result("fails", "raise AssertionError"), seconds=0.0) == {}


def test_one_of_each_requirement_is_first() -> None:
    names = ["one", "two", "three"]
    results = [
        TestResult(name, (identity,), Verdict.FAIL, reproducer="")
        for name, identity in zip(names, ["a", "a", "b"], strict=True)
    ]
    assert list(tried(*results, processes=1)) == ["one", "three", "two"]
