"""What went wrong, grouped by its cause: in a session's last lines, in its record and on the pages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

# Before pytester takes stock of modules: a session in this process forgets what it imported, and torch loads only once.
import torch  # noqa: F401

from conformance.cli import main
from conformance.records import causes as causes_module
from conformance.records.causes import Cause, Causes
from conformance.records.result import TestResult
from conformance.records.symptoms import NOT_EACH_TIME, symptom_of
from conformance.records.verdicts import Verdict
from conformance.requirements.registry import Requirement
from tests.conformance.conftest import Kit

pytest_plugins = ["pytester"]

ONE = Requirement("area.one", "area", "must", "One.", ("a page",), "2.8")
TWO = Requirement("area.two", "area", "should", "Two.", ("a page",), "2.8")
OPEN = Requirement("area.open", "area", "may", "Open.", ("a page",), "2.8")
REQUIREMENTS = (ONE, TWO, OPEN)

#: What PyTorch puts behind the errors of a runtime.
ADVICE = "Search for `cudaErrorIllegalState' in https://docs.example.org/types.html for more information."
LOGGED = f"{ADVICE}\nThe CUDA driver logged these messages, which may provide useful details:\n"

#: A class that lacks ten names, and tests that want the n-th of them n times, in the several ways of tests.
TESTS = """
    import contextlib
    import types

    from conformance.checks import expect_no_raise, expect_raises

    NAMES = [f"name_{chr(97 + number)}" for number in range(10)]
    WANTED = [(name, turn) for place, name in enumerate(NAMES, 1) for turn in range(place)]
    device = types.ModuleType("device")

    class Graph:
        def __init__(self): ...

    def want(name, turn):
        if name == "name_j":
            Graph(name_j=turn)
        elif turn % 2:
            getattr(device if name < "name_e" else Graph(), name)
        else:
            expect_no_raise(f"call {turn} works", lambda: getattr(device if name < "name_e" else Graph(), name))

    @requirement("alpha.one")
    @pytest.mark.parametrize(("name", "turn"), WANTED)
    def test_name(impl, name, turn): want(name, turn)

    @requirement("alpha.two")
    @pytest.mark.parametrize("turn", range(3))
    def test_values(impl, turn): fail("they are equal", f"{turn} of 40 elements differ; at ({turn}, 2), is {turn}.5")

    @requirement("alpha.left-open")
    def test_open(impl): want("name_a", 1)

    @requirement("alpha.two")
    def test_kit(impl): raise HarnessError("the kit has no hands")

    @requirement("beta.pooled")
    def test_pool(impl): ...
"""


def failed(test: str, seen: str, requirement: Requirement = ONE, **more: object) -> TestResult:
    return TestResult(test, (requirement.id,), Verdict.FAIL, message=seen, **more)  # type: ignore[arg-type]


def ranked(results: Sequence[TestResult]) -> tuple[Cause, ...]:
    return Causes.of(results, REQUIREMENTS).ranked()


def test_causes_come_first_and_the_largest_of_them_leads(kit: Kit, tmp_path: Path) -> None:
    kit.tests(TESTS)
    result, record = kit.recorded("--tb=no", "-rN")
    lines = result.outlines
    causes = record.causes.ranked()
    first = lines.index("why 59 tests went wrong, the largest cause first:")
    assert lines[first + 1 : first + 3] == [
        "  10 tests, 1 requirement: the constructor of Graph takes no name_j",
        "      such as test_it.py::test_name[name_j-0]",
    ]
    assert lines[first + 3] == "  9 tests, 1 requirement: Graph has no name_i"
    assert first < next(place for place, line in enumerate(lines) if line.startswith("requirement "))
    assert "  … and 3 tests of 2 smaller causes" not in lines  # of twelve causes ten are shown
    assert "  … and 2 tests of 2 smaller causes" in lines
    assert "  (1 more failed at what the documents leave open, which is recorded and not judged)" in lines
    assert lines[-1] == record.claim.line
    # The sums are those of the record.
    assert [cause.tests for cause in causes] == [10, 9, 8, 7, 6, 5, 4, 3, 3, 2, 1, 1]
    tests = record.assessment.tests
    assert sum(cause.tests for cause in causes) + record.causes.noted == tests[Verdict.FAIL] + tests[Verdict.ERROR]
    by_verdict = {verdict: sum(cause.verdicts.get(verdict, 0) for cause in causes) for verdict in tests}
    assert by_verdict == {Verdict.PASS: 0, Verdict.FAIL: tests[Verdict.FAIL] - 1, Verdict.ERROR: 1}


def test_pages_show_the_same_causes(kit: Kit, tmp_path: Path) -> None:
    kit.tests(TESTS)
    _, record = kit.recorded()
    assert main(["report", str(record.path), f"--output={tmp_path}"]) == 0
    for name in ("failures.html", "report.md"):
        page = (tmp_path / name).read_text(encoding="utf-8").replace("\\_", "_")
        places = [page.index(cause.words) for cause in record.causes.ranked() if "has no" in cause.words]
        assert places == sorted(places)
        assert page.index("59 tests went wrong.") < places[0]
        assert page.rindex("the constructor of Graph takes no name_j") < page.index("alpha.two")
        assert page.index("the constructor of Graph takes no name_j") < places[0]


def test_memory_is_bounded_and_a_late_cause_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(causes_module, "ROOM", 20)
    causes = Causes(REQUIREMENTS)
    words = [f"{chr(97 + number % 26)}{chr(97 + number // 26)}" for number in range(600)]
    for number, word in enumerate(words):
        causes.add(failed(f"t{number}", f"KeyError: {word} is not here"))
        assert len(causes._groups) <= 20
    for number in range(400):
        causes.add(failed(f"late{number}", f"OSError: handle {number} is bad", TWO))
    largest, second = causes.ranked()
    assert (largest.tests, largest.requirements, second.tests) == (600, ("area.one",), 400)
    assert largest.words.startswith("area.one, each test for itself; the first: ")
    assert (second.words, second.example.test) == ("OSError: handle 0 is bad", "late0")


def test_names_that_no_header_has_are_not_kept() -> None:
    results = [TestResult(f"t{number}", (f"x.{number}",), Verdict.ERROR, message="bad") for number in range(50)]
    causes = Causes.of(results, REQUIREMENTS)
    assert [(cause.tests, cause.requirements) for cause in causes.ranked()] == [(50, ())]
    assert len(causes._by_requirement) == 1


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (
            (
                "RuntimeError: bad address 0x7f1200 of <Graph object at 0x7f00>",
                "RuntimeError: bad address 0x1 of <a.B at 0x2>",
            ),
            "RuntimeError: bad address",
        ),
        (("3 of 4 elements differ; at (1, 2), is nan", "1 of 9 elements differ; at (7,), is -2.5e-3"), "3 of 4"),
        (("ValueError: no file /tmp/a/b.py", "ValueError: no file C:\\temp\\x.py"), "ValueError: no file"),
        (
            (
                "recovering raised AttributeError: module 'm' has no attribute 'x'",
                "AttributeError: module 'm' has no attribute 'x'",
            ),
            "m has no x",
        ),
        (
            (
                "TypeError: f() got an unexpected keyword argument 'pool'",
                "TypeError instead: f() got an unexpected keyword argument 'pool'",
            ),
            "f() takes no pool",
        ),
        (
            (
                "<Stream at=0x1414> instead of <Stream at=0x0>, after DeviceError: it is spoiled\nSearch for it",
                "<Stream at=0x3efc> instead of <Stream at=0x0>, after DeviceError",
            ),
            "<Stream at=0x1414> instead of <Stream at=0x0>, after DeviceError",
        ),
        (("the stream still captures", f"the stream still captures{NOT_EACH_TIME}"), "the stream still captures"),
        (
            (
                f"DeviceError: not in this state\n{ADVICE}",
                f"left behind: a small computation raised DeviceError: not in this state {ADVICE}",
            ),
            "DeviceError: not in this state",
        ),
        (
            tuple(f"DeviceError: invalid\n{LOGGED}no executable\nReturning {number}" for number in (1, 901)),
            "DeviceError: invalid (no executable)",
        ),
    ],
)
def test_values_of_a_test_make_no_cause_of_their_own(texts: tuple[str, str], words: str) -> None:
    (cause,) = ranked([failed(f"t{number}", text) for number, text in enumerate(texts)])
    assert cause.tests == 2
    assert cause.words.startswith(words)


def test_what_has_other_words_is_another_cause() -> None:
    results = [failed("a", "KeyError: 'x' in pool"), failed("b", "KeyError: 'x' in graph")] * 2
    assert [cause.tests for cause in ranked(results)] == [2, 2]
    logged = [failed(text, f"DeviceError: invalid\n{LOGGED}{text}") for text in ("no template", "no executable")] * 2
    assert [cause.tests for cause in ranked(logged)] == [2, 2]
    different_owner = [failed("a", "AttributeError: 'A' object has no attribute 'x'")] * 2
    different_owner += [failed("b", "AttributeError: 'B' object has no attribute 'x'")] * 2
    assert [cause.words for cause in ranked(different_owner)] == ["A has no x", "B has no x"]


def test_bare_values_are_grouped_by_what_they_decide() -> None:
    results = [failed("a", "[False, True]"), failed("b", "7"), failed("c", "'relaxed'", TWO)]
    first, second = ranked(results)
    assert (first.tests, first.requirements, second.tests, second.requirements) == (2, ("area.one",), 1, ("area.two",))


@pytest.mark.parametrize(
    ("kind", "declare", "remedy"),
    [
        (
            "missing",
            "keep_graph",
            "if that is so, declare capabilities={'keep_graph': False}",
        ),
        ("missing", None, ""),
        (
            "adapter",
            "pools",
            "write the adapter's keep_graph(), or declare capabilities={'pools': False}",
        ),
    ],
)
def test_a_known_cause_says_what_to_do(kind: str, declare: str | None, remedy: str) -> None:
    cause = {"kind": kind, "name": "keep_graph", "declare": declare}
    text = "missing: it is not there\nTypeError: G.__init__() got an unexpected keyword argument 'keep_graph'"
    results = [failed("a", text, cause=cause), failed("b", "an instance has no such attribute", TWO, cause=cause)]
    (found,) = ranked(results)
    assert found.size == "2 tests, 2 requirements"
    assert (found.words, found.remedy) == ("the constructor of G takes no keep_graph", remedy)


def test_waived_and_passing_tests_have_no_cause() -> None:
    results = [TestResult(name, ("area.one",), Verdict(name)) for name in ("pass", "waived", "skipped", "unsupported")]
    causes = Causes.of([*results, failed("t", "KeyError: gone", OPEN)], REQUIREMENTS)
    assert (causes.ranked(), causes.noted) == ((), 1)


# -- processes that ended ---------------------------------------------------------------------------------------------

STACKS = """Fatal Python error: Aborted

Thread 0x00007f (most recent call first):
  File "helper.py", line 3 in wait

Current thread 0x00007e (most recent call first):
  File "bad.py", line {line} in __del__
  File "suites/capture/test_empty.py", line 27 in test_it
"""


def lost(test: str, verdict: Verdict, stacks: str, calls: Sequence[str] = (), **ending: object) -> TestResult:
    values = {"signal": None, "exit_status": None, "stacks": stacks, **ending}
    return TestResult(
        test,
        ("area.one",),
        verdict,
        phase="exit",
        message="its process ended",
        calls=tuple(calls),
        ending=values,
    )


def test_crashes_are_grouped_by_end_and_place() -> None:
    results = [
        *(lost(f"a{number}", Verdict.CRASH, STACKS.format(line=53), signal="SIGABRT") for number in range(3)),
        *(lost(f"b{number}", Verdict.CRASH, STACKS.format(line=53), signal="SIGSEGV") for number in range(2)),
        *(lost(f"c{number}", Verdict.TIMEOUT, STACKS.format(line=57), signal="SIGTERM") for number in range(4)),
        *(lost(f"d{number}", Verdict.CRASH, STACKS.format(line=53), exit_status=7) for number in range(6)),
        *(lost(f"e{number}", Verdict.CRASH, STACKS.format(line=53), exit_status=8) for number in range(5)),
    ]
    assert [cause.words for cause in ranked(results)] == [
        "the process ended with exit status 7, in __del__ (bad.py:53)",
        "the process ended with exit status 8, in __del__ (bad.py:53)",
        "did not come back, in __del__ (bad.py:57)",
        "the process ended by SIGABRT, in __del__ (bad.py:53)",
        "the process ended by SIGSEGV, in __del__ (bad.py:53)",
    ]


def test_a_crash_outside_of_python_lies_in_the_last_call() -> None:
    stacks = 'Current thread 0x7e (most recent call first):\n  File "suites/a.py", line 27 in test_it\n'
    for call in ("g3.reset() (did not return)", "  [Thread-7 (work)] g12.reset()", "G.reset (did not return)"):
        words = symptom_of(lost("t", Verdict.CRASH, stacks, ["g0.replay()", call], exit_status=3)).words
        assert words.removesuffix("()").replace("G.", "") == "the process ended with exit status 3, in reset"
    assert symptom_of(lost("t", Verdict.CRASH, "", exit_status=3)).words == "the process ended with exit status 3"
