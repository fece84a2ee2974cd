"""Two records compared: what counts as a regression, what does not, and what is said of records that differ."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.cli import main
from conformance.comparing.changes import Change, transition
from conformance.comparing.comparison import Comparison, compare
from conformance.comparing.found import Found
from conformance.comparing.table import Side, Table
from conformance.comparing.text import data_of, text_of
from conformance.errors import ExitStatus, RecordError
from conformance.records.result import TestResult
from conformance.records.run import Run
from conformance.records.subject import Subject
from conformance.records.verdicts import Verdict
from conformance.requirements.registry import Area, Registry, Requirement

ONE = Requirement("area.one", "area", "must", "One.", ("a page",), "2.8")
TWO = Requirement("area.two", "area", "should", "Two.", ("a page",), "2.8")
LEFT_OPEN = Requirement("area.open", "area", "may", "Open.", ("a page",), "2.8")
LATER = Requirement("area.later", "area", "must", "Later.", ("a page",), "2.14")
#: No test decides it; a record without any must is refuted.
BASE = Requirement("area.base", "area", "must", "Base.", ("a page",), "2.8")
ALL = (ONE, TWO, LEFT_OPEN, LATER, BASE)
SUBJECT = Subject("mine", "mine.py:Mine", "cuda", "2.13", {}, {"python": "3.11"})
T1, T2 = "suites/area/test_a.py::test_one", "suites/area/test_a.py::test_two[a]"
#: The ids that tests decide, unless a test says otherwise.
DECIDES = {T1: ("area.one",), T2: ("area.two",)}
WAIVER = {
    "place": "known.toml:1",
    "requirement": "area.one",
    "reason": "r",
    "link": "l",
    "owner": "o",
    "expires": "2099-01-01",
}
DAY, NEXT_DAY = "2026-01-01T00:00:00+00:00", "2026-01-02T00:00:00+00:00"


def _result(test: str, ids: tuple[str, ...], verdict: Verdict) -> TestResult:
    if verdict is Verdict.PASS:
        return TestResult(test, ids, verdict, command=f"run {test}")
    waiver = None
    if verdict is Verdict.WAIVED:
        waiver = {name: WAIVER[name] for name in ("reason", "link", "owner", "expires")} | {"verdict": "fail"}
    runs = {"pass": 1, "fail": 1} if verdict is Verdict.FLAKY else None
    return TestResult(
        test, ids, verdict, message="promised: p\nseen: s", seen="s", command=f"run {test}", waiver=waiver, runs=runs
    )


def written(
    path: Path,
    verdicts: Mapping[str, Verdict | None],
    *,
    decides: Mapping[str, tuple[str, ...]] = DECIDES,
    entries: Iterable[Requirement] = ALL,
    subject: Subject = SUBJECT,
    started_at: str = DAY,
    digests: Mapping[str, str] | None = None,
    narrowed: bool = False,
    left_out: tuple[str, ...] = (),
    ends: bool = True,
) -> Path:
    """The record of a run of tests that come to these verdicts; one without a verdict is planned and not run."""
    run = Run(subject, Registry([Area("area", "An area", tuple(entries))]), path)
    waived = Verdict.WAIVED in verdicts.values()
    planned = {test: decides.get(test, ("area.one",)) for test in verdicts}
    run.begin(
        planned,
        ({"waivers": "known.toml"} if waived else {}) | ({"reruns": 1} if Verdict.FLAKY in verdicts.values() else {}),
        started_at,
        not_applicable=left_out,
        narrowed=narrowed,
        waivers=[WAIVER] if waived else [],
        digests=digests,
    )
    for test, verdict in verdicts.items():
        if verdict is not None:
            run.started(test)
            run.ended(_result(test, planned[test], verdict))
    if ends:
        assessment = run.assess(narrowed=narrowed, stopped=None)
        run.end(assessment, assessment.exit_status, None)
    run.close()
    return path


@pytest.fixture
def pair(tmp_path: Path) -> Any:
    """Compares two records of these verdicts, each with settings of its own."""

    def compared(
        old: Mapping[str, Verdict | None],
        new: Mapping[str, Verdict | None],
        *,
        before: Mapping[str, Any] | None = None,
        after: Mapping[str, Any] | None = None,
    ) -> Comparison:
        first = written(tmp_path / "old.jsonl", old, **(before or {}))
        second = written(tmp_path / "new.jsonl", new, **{"started_at": NEXT_DAY, **(after or {})})
        return compare(first, second)

    return compared


def changes(comparison: Comparison) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The names of the requirements and of the tests with each change, but for those without one."""
    requirements = {
        change.value: [entry.id for entry in found.items]
        for change, found in comparison.requirements.items()
        if change is not Change.SAME
    }
    tests = {
        change.value: [entry.test for entry in found.items]
        for change, found in comparison.tests.items()
        if change is not Change.SAME
    }
    return requirements, tests


# -- verdicts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "change", "status"),
    [
        ("pass", "pass", None, 0),
        ("pass", "fail", "regressed", 1),
        ("pass", "crash", "regressed", 1),
        ("pass", "timeout", "regressed", 1),
        ("pass", "waived", "waived", 0),
        ("pass", "unsupported", "undecided", 0),
        ("pass", "skipped", "undecided", 0),
        ("pass", "error", "undecided", 3),
        ("fail", "pass", "fixed", 0),
        ("crash", "fail", "failing", 0),
        ("waived", "pass", "fixed", 0),
        ("waived", "fail", "failing", 0),
        ("fail", "waived", "waived", 0),
        ("fail", "skipped", "undecided", 0),
        ("unsupported", "pass", "decided", 0),
        ("unsupported", "fail", "decided", 0),
        ("error", "fail", "decided", 0),
        ("error", "pass", "decided", 0),
        ("unsupported", "skipped", None, 0),
    ],
)
def test_a_must_and_its_test_change_as_their_verdicts_say(
    pair: Any, before: str, after: str, change: str | None, status: int
) -> None:
    comparison = pair({T1: Verdict(before), T2: Verdict.PASS}, {T1: Verdict(after), T2: Verdict.PASS})
    expected = ({}, {}) if change is None else ({change: ["area.one"]}, {change: [T1]})
    assert changes(comparison) == expected
    assert comparison.exit_status == status


@given(st.sampled_from(Verdict), st.sampled_from(Verdict), st.booleans())
def test_only_what_was_right_regresses(before: Verdict, after: Verdict, scored: bool) -> None:
    change = transition(before, after, scored=scored)
    is_grave = {verdict for verdict in Verdict if verdict.is_loss} | {Verdict.FLAKY}  # nothing that may be left open
    assert (change is Change.REGRESSED) == (before is Verdict.PASS and after.rejects and (scored or after in is_grave))
    assert change is not Change.FIXED or (before.is_unmet and after is Verdict.PASS)
    if before is after and before is not Verdict.WAIVED:
        assert change is (Change.FAILING if before.rejects and (scored or before in is_grave) else Change.SAME)


def test_what_is_flaky_now_regressed_and_one_pass_proves_nothing(pair: Any) -> None:
    worse = pair({T1: Verdict.PASS}, {T1: Verdict.FLAKY})
    assert changes(worse)[1] == {"regressed": [T1]}
    assert worse.exit_status == 1
    better = pair({T1: Verdict.FLAKY}, {T1: Verdict.PASS})
    assert changes(better)[1] == {"fixed": [T1]}
    assert "1 test failed now and then in the old run and passed in the new one, which one pass does not prove" in (
        better.notes
    )
    assert better.exit_status == 0
    same = pair({T1: Verdict.FLAKY}, {T1: Verdict.FAIL})
    assert changes(same)[1] == {"failing": [T1]}


def test_what_is_left_open_is_no_regression(pair: Any) -> None:
    decides = {T1: ("area.open",)}
    settings = {"before": {"decides": decides}, "after": {"decides": decides}}
    comparison = pair({T1: Verdict.PASS}, {T1: Verdict.FAIL}, **settings)
    assert changes(comparison) == ({"open": ["area.open"]}, {"open": [T1]})
    assert comparison.exit_status == 0
    crashed = pair({T1: Verdict.PASS}, {T1: Verdict.CRASH}, **settings)
    assert changes(crashed) == ({"open": ["area.open"]}, {"regressed": [T1]})
    assert crashed.exit_status == 1


def test_a_test_beside_others_regresses_without_its_requirement(pair: Any) -> None:
    decides = {T1: ("area.one",), T2: ("area.one",)}
    settings = {"before": {"decides": decides}, "after": {"decides": decides}}
    comparison = pair({T1: Verdict.PASS, T2: Verdict.FAIL}, {T1: Verdict.FAIL, T2: Verdict.FAIL}, **settings)
    assert changes(comparison) == ({"failing": ["area.one"]}, {"regressed": [T1], "failing": [T2]})
    assert comparison.exit_status == 1


# -- tests that are not in both, or not the same ----------------------------------------------------------------------


def test_new_and_gone_tests_are_no_regressions(pair: Any) -> None:
    comparison = pair({T1: Verdict.PASS}, {T2: Verdict.FAIL})
    requirements, tests = changes(comparison)
    assert tests == {"new": [T2], "gone": [T1]}
    # Each is in both records, and was decided in one.
    assert requirements == {"undecided": ["area.one"], "decided": ["area.two"]}
    assert comparison.exit_status == 0
    (new,), (gone,) = (comparison.tests[change].items for change in (Change.NEW, Change.GONE))
    assert ((new.before, new.after), (gone.before, gone.after)) == (("not there", "fail"), ("pass", "not there"))


def test_a_new_test_that_fails_makes_no_regression_of_its_requirement(pair: Any) -> None:
    decides = {T1: ("area.one",), T2: ("area.one",)}
    settings = {"before": {"decides": decides}, "after": {"decides": decides}}
    comparison = pair({T1: Verdict.PASS}, {T1: Verdict.PASS, T2: Verdict.FAIL}, **settings)
    assert changes(comparison) == ({"incomparable": ["area.one"]}, {"new": [T2]})
    assert comparison.exit_status == 0
    both = pair({T1: Verdict.PASS}, {T1: Verdict.FAIL, T2: Verdict.FAIL}, **settings)
    assert changes(both) == ({"regressed": ["area.one"]}, {"regressed": [T1], "new": [T2]})


def test_nothing_is_fixed_by_a_test_that_is_gone(pair: Any) -> None:
    decides = {T1: ("area.one",), T2: ("area.one",)}
    settings = {"before": {"decides": decides}, "after": {"decides": decides}}
    comparison = pair({T1: Verdict.PASS, T2: Verdict.FAIL}, {T1: Verdict.PASS}, **settings)
    assert changes(comparison) == ({"incomparable": ["area.one"]}, {"gone": [T2]})


def test_a_test_whose_code_changed_is_not_compared(pair: Any) -> None:
    settings = {
        "before": {"digests": {T1: "a", T2.partition("[")[0]: "c"}},
        "after": {"digests": {T1: "b", T2.partition("[")[0]: "c"}},
    }
    comparison = pair({T1: Verdict.PASS, T2: Verdict.PASS}, {T1: Verdict.FAIL, T2: Verdict.FAIL}, **settings)
    requirements, tests = changes(comparison)
    assert tests == {"changed": [T1], "regressed": [T2]}
    assert requirements == {"incomparable": ["area.one"], "regressed": ["area.two"]}
    assert not any("by name only" in note for note in comparison.notes)
    fixed = pair({T1: Verdict.FAIL, T2: Verdict.FAIL}, {T1: Verdict.PASS, T2: Verdict.PASS}, **settings)
    assert changes(fixed) == (
        {"incomparable": ["area.one"], "fixed": ["area.two"]},
        {"changed": [T1], "fixed": [T2]},
    )


@pytest.mark.parametrize("side", ["before", "after"])
def test_tests_without_digests_are_compared_by_name(pair: Any, side: str) -> None:
    comparison = pair(
        {T1: Verdict.PASS, T2: Verdict.PASS}, {T1: Verdict.FAIL, T2: Verdict.PASS}, **{side: {"digests": {T1: "a"}}}
    )
    assert changes(comparison)[1] == {"regressed": [T1]}
    assert "2 tests are compared by name only: a record has no digests of their code" in comparison.notes


# -- parts of runs ----------------------------------------------------------------------------------------------------


def test_an_incomplete_record_fixes_nothing(pair: Any) -> None:
    comparison = pair({T1: Verdict.FAIL, T2: Verdict.PASS}, {T1: None, T2: None}, after={"ends": False})
    assert changes(comparison) == ({"undecided": ["area.one", "area.two"]}, {"undecided": [T1, T2]})
    assert {entry.after for entry in comparison.tests[Change.UNDECIDED].items} == {"not_run"}
    assert comparison.exit_status == ExitStatus.USAGE
    text = text_of(comparison)
    assert "note: the new record is incomplete" in text
    assert text.splitlines()[-1].startswith("INCOMPLETE: no regression in what was run; of ")


def test_regressions_of_an_incomplete_record_are_told(pair: Any) -> None:
    comparison = pair({T1: Verdict.PASS, T2: Verdict.PASS}, {T1: Verdict.FAIL, T2: None}, after={"ends": False})
    assert changes(comparison)[1] == {"regressed": [T1], "undecided": [T2]}
    assert comparison.exit_status == ExitStatus.USAGE
    assert "INCOMPLETE: 1 requirement (1 must) and 1 test regressed in what was run" in text_of(comparison)


def test_an_old_record_that_is_incomplete_is_named(pair: Any) -> None:
    comparison = pair({T1: Verdict.PASS, T2: None}, {T1: Verdict.PASS, T2: Verdict.FAIL}, before={"ends": False})
    assert changes(comparison)[1] == {"decided": [T2]}
    assert comparison.exit_status == ExitStatus.USAGE
    assert text_of(comparison).splitlines()[-1].endswith("old.jsonl the run did not come to its end")


def test_what_a_part_of_the_suites_leaves_out_is_not_gone(pair: Any) -> None:
    whole = {T1: Verdict.FAIL, T2: Verdict.PASS}
    part = pair(whole, {T2: Verdict.PASS}, after={"narrowed": True})
    assert changes(part) == ({"undecided": ["area.one"]}, {"undecided": [T1]})
    assert part.tests[Change.UNDECIDED].items[0].after == "not selected"
    assert text_of(part).splitlines()[-1] == "NO REGRESSION; 1 test not decided any more"
    other = pair({T2: Verdict.PASS}, whole, before={"narrowed": True})
    assert changes(other) == ({"decided": ["area.one"]}, {"decided": [T1]})
    assert other.tests[Change.DECIDED].items[0].before == "not selected"


def test_tests_that_do_not_apply_say_so(pair: Any) -> None:
    comparison = pair({T1: Verdict.PASS}, {T2: Verdict.PASS}, before={"left_out": (T2,)}, after={"left_out": (T1,)})
    assert comparison.tests[Change.NEW].items[0].before == "not applicable"
    assert comparison.tests[Change.GONE].items[0].after == "not applicable"


# -- what is asked ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "difference"),
    [
        ({"level": "should"}, "level: must, now should"),
        ({"text": "Uno."}, "text: One., now Uno."),
        ({"since": "2.9"}, "since: 2.8, now 2.9"),
        ({"until": "2.15"}, "until: none, now 2.15"),
        ({"dialects": ("cuda", "xpu")}, "dialects: cuda, xpu, accelerator, now cuda, xpu"),
        ({"capability": "pools"}, "capabilities: none, now pools"),
        ({"untestable": "no means"}, "untestable: none, now no means"),
    ],
)
def test_a_requirement_that_asks_otherwise_is_changed_by_contract(
    pair: Any, values: dict[str, Any], difference: str
) -> None:
    after: dict[str, Any] = {"entries": (replace(ONE, **values), TWO, LEFT_OPEN, LATER, BASE)}
    if "untestable" in values:
        after["decides"] = {T1: ("area.two",)}
    comparison = pair({T1: Verdict.PASS}, {T1: Verdict.FAIL}, after=after)
    (changed,) = comparison.requirements[Change.CHANGED].items
    assert (changed.id, changed.differences[0]) == ("area.one", difference)
    assert difference in text_of(comparison)
    # The test is the same, whatever is made of it.
    assert changes(comparison)[1] == {"regressed": [T1]}


def test_another_revision_asks_for_more(pair: Any) -> None:
    later = replace(SUBJECT, revision="2.14")
    decides = {**DECIDES, T2: ("area.later",)}
    comparison = pair(
        {T1: Verdict.PASS},
        {T1: Verdict.PASS, T2: Verdict.FAIL},
        before={"left_out": (T2,)},
        after={"subject": later, "decides": decides},
    )
    requirements, tests = changes(comparison)
    assert (requirements, tests) == ({"new": ["area.later"]}, {"new": [T2]})
    (new,) = comparison.requirements[Change.NEW].items
    assert (new.before, new.after, new.differences) == ("not asked", "fail", ())
    assert "another revision: '2.13' and '2.14'" in comparison.notes


def test_new_and_gone_requirements(pair: Any) -> None:
    comparison = pair(
        {T1: Verdict.PASS},
        {T1: Verdict.PASS},
        before={"entries": (ONE, LEFT_OPEN, LATER)},
        after={"entries": (ONE, TWO, LATER)},
    )
    assert changes(comparison)[0] == {"new": ["area.two"], "gone": ["area.open"]}


# -- what is said of the runs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "note"),
    [
        ({}, {"started_at": DAY}, f"both runs began at {DAY}, so which one is the later cannot be told"),
        ({}, {"started_at": "2026-01-01T01:00:00+01:00"}, "both runs began at"),
        ({}, {"started_at": "2026-01-01T00:00:00.5Z"}, None),
        ({}, {"started_at": "2025-12-31T23:59:59Z"}, "the new run began before the old one"),
        ({}, {"started_at": "2025-12-31T23:59:59Z", "subject": replace(SUBJECT, revision="2.14")}, None),
        ({}, {"started_at": "2026-01-01T00:30:00+01:00"}, "the new run began before the old one"),
        ({}, {"subject": replace(SUBJECT, name="yours")}, "another implementation: 'mine' and 'yours'"),
        ({}, {"subject": replace(SUBJECT, dialect="xpu")}, "another dialect: 'cuda' and 'xpu'"),
        (
            {},
            {"subject": replace(SUBJECT, environment={"python": "3.12"})},
            "another environment python: '3.11' and '3.12'",
        ),
    ],
)
def test_what_tells_runs_apart_is_said(
    pair: Any, before: dict[str, Any], after: dict[str, Any], note: str | None
) -> None:
    comparison = pair({T1: Verdict.PASS}, {T1: Verdict.FAIL}, before=before, after=after)
    assert comparison.exit_status == 1
    if note is None:
        assert not any("began" in each for each in comparison.notes)
    else:
        assert any(each.startswith(note) for each in comparison.notes)


def test_the_differences_that_are_told_have_an_end(pair: Any) -> None:
    after = {"subject": replace(SUBJECT, environment={f"name{number}": "x" * 5000 for number in range(30)})}
    notes = pair({T1: Verdict.PASS}, {T1: Verdict.PASS}, after=after).notes
    assert "and 11 more differences of the two runs" in notes
    assert len(notes) < 30
    assert max(map(len, notes)) <= 200


def test_what_the_kit_could_not_decide_is_no_clean_comparison(pair: Any) -> None:
    comparison = pair({T1: Verdict.PASS, T2: Verdict.PASS}, {T1: Verdict.ERROR, T2: Verdict.FAIL})
    assert comparison.exit_status == ExitStatus.KIT_FAILED
    outcome = text_of(comparison).splitlines()[-1]
    assert outcome.startswith("ERROR: 1 requirement (no must) and 1 test regressed in what could be decided; the kit")
    # Of an old one, only less can be said.
    assert pair({T1: Verdict.ERROR, T2: Verdict.PASS}, {T1: Verdict.PASS, T2: Verdict.PASS}).exit_status == 0


def test_a_record_compared_with_itself_has_no_changes(tmp_path: Path) -> None:
    path = written(tmp_path / "run.jsonl", {T1: Verdict.FAIL, T2: Verdict.PASS})
    comparison = compare(path, path)
    assert "both are the same record" in comparison.notes
    assert changes(comparison) == ({"failing": ["area.one"]}, {"failing": [T1]})
    assert comparison.exit_status == 0


# -- refusals ---------------------------------------------------------------------------------------------------------


def test_records_that_cannot_be_used_are_named_with_the_reason(tmp_path: Path, capsys: Any) -> None:
    good = written(tmp_path / "good.jsonl", {T1: Verdict.PASS})
    schema = tmp_path / "schema.jsonl"
    schema.write_bytes(good.read_bytes().replace(b'"schema": 3', b'"schema": 2'))
    broken = tmp_path / "broken.jsonl"
    broken.write_bytes(good.read_bytes().replace(b'"verdict": "pass"', b'"verdict": "fail"', 1))
    reasons = {schema: "has schema version 2; this kit reads version 3", broken: "line 4", tmp_path / "no": "No such"}
    for path, reason in reasons.items():
        for words in ((good, path), (path, good)):
            assert main(["compare", *map(str, words)]) == ExitStatus.USAGE
            output = capsys.readouterr()
            assert (output.out, output.err.count("\n")) == ("", 1)
            assert str(path) in output.err
            assert reason in output.err
    with pytest.raises(RecordError) as caught:
        compare(schema, broken)
    assert str(schema) in str(caught.value)
    assert str(broken) in str(caught.value)


# -- what is shown ----------------------------------------------------------------------------------------------------


def test_what_is_shown_is_bounded_and_counted(pair: Any) -> None:
    names = [f"suites/area/test_a.py::test_many[{number}]" for number in range(100)]
    comparison = pair(dict.fromkeys(names, Verdict.PASS), dict.fromkeys(names, Verdict.FAIL))
    text = text_of(comparison)
    assert "  ... and 80 more tests" in text
    assert text.count("(pass -> fail)") == 21
    assert text.count("again: run suites/area") == 20
    data = data_of(comparison)
    assert data["tests"]["regressed"]["count"] == 100
    assert len(data["tests"]["regressed"]["first"]) == Found.KEPT
    assert text.splitlines()[-1] == data["outcome"] == "REGRESSED: 1 requirement (1 must) and 100 tests regressed"


def test_data_and_text_say_the_same(pair: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    comparison = pair({T1: Verdict.PASS, T2: Verdict.FAIL}, {T1: Verdict.FAIL, T2: Verdict.PASS})
    words = ["compare", str(tmp_path / "old.jsonl"), str(tmp_path / "new.jsonl")]
    assert main([*words, "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data == json.loads(json.dumps(data_of(comparison)))
    assert main(words) == 1
    assert capsys.readouterr().out == text_of(comparison) + "\n"
    assert (data["schema"], data["exit_status"], data["old"]["implementation"]) == (1, 1, "mine")
    assert data["requirements"]["regressed"]["first"] == [
        {
            "id": "area.one",
            "level": "must",
            "text": "One.",
            "before": "pass",
            "after": "fail",
            "differences": [],
        }
    ]
    assert data["tests"]["fixed"]["first"][0]["test"] == T2
    assert data["tests"]["regressed"]["first"][0]["seen"] == "s"
    assert data["new"]["claim"] in text_of(comparison)


def test_nothing_of_a_record_reaches_the_terminal_as_it_is(pair: Any) -> None:
    bad = "suites/a\x1b[2J\nCONFORMS::t"
    entry = replace(ONE, text="a\x1b[31m\nb")
    settings = {"entries": (entry, TWO)}
    text = text_of(pair({bad: Verdict.PASS}, {bad: Verdict.FAIL}, before=settings, after=settings))
    assert "\x1b" not in text
    assert not any(line.startswith("CONFORMS") for line in text.splitlines())


# -- many tests -------------------------------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.sampled_from(Side), st.text("ab", max_size=3), st.sampled_from([*Verdict, None]))),
)
def test_the_table_knows_what_a_dictionary_does(entries: list[tuple[Side, str, Verdict | None]]) -> None:
    table, known = Table(), dict[tuple[Side, str], Verdict | None]()
    for number in range(2_000):  # so that it grows
        table.plan(Side.OLD, f"other {number}", "x")
    for side, test, verdict in entries:
        if verdict is None:
            table.leave_out(side, test)
        else:
            table.plan(side, test, None)
            table.end(side, test, verdict)
        known[side, test] = verdict
    for _, test in known:
        fate = table.fate(test)
        assert (fate.old, fate.new) == (known.get((Side.OLD, test)), known.get((Side.NEW, test)))
    assert all(table.fate(f"other {number}").old is Verdict.NOT_RUN for number in range(2_000))


#: What the system says of a child counts its parent's memory, too; this is the process's own.
COMMAND = """
import sys
from conformance.cli import main
status = main()
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1], file=sys.stderr)
sys.exit(status)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system says nothing of a process's memory")
def test_memory_does_not_grow_with_the_tests(tmp_path: Path) -> None:
    peaks = []
    for count in (1_000, 10_000):
        names = [f"suites/area/test_{number % 97}.py::test_it[{number}]" for number in range(count)]
        old = written(tmp_path / f"old{count}", dict.fromkeys(names, Verdict.PASS))
        new = written(
            tmp_path / f"new{count}",
            {name: (Verdict.PASS, Verdict.FAIL)[place % 2] for place, name in enumerate(names)},
            started_at=NEXT_DAY,
        )
        words = [sys.executable, "-c", COMMAND, "compare", str(old), str(new)]
        done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        assert done.returncode == 1, done.stderr
        peaks.append(int(done.stderr.split()[-1]))
    assert peaks[1] < 1.2 * peaks[0]
