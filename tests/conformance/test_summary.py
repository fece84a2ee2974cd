"""The terminal summary."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.errors import ExitStatus
from conformance.records.assessment import Target, assess
from conformance.records.causes import Causes
from conformance.records.claim import claim
from conformance.records.outcomes import Outcomes
from conformance.records.result import TestResult
from conformance.records.summary import RunSummary, render
from conformance.records.verdicts import Verdict
from conformance.requirements.registry import Requirement


def _summary(
    results: list[TestResult], entries: list[Requirement], *, target: Target | None = None, **capabilities: bool
) -> RunSummary:
    assessment = assess(
        entries, Outcomes.of(results), dialect="cuda", revision="2.13", capabilities=capabilities, target=target
    )
    return RunSummary(
        claim=claim(assessment, implementation="fake", dialect="cuda", revision="2.13"),
        assessment=assessment,
        results=results,
        requirements={entry.id: entry for entry in entries},
        causes=Causes.of(results, entries).ranked(),
        noted=0,
        left_out="",
        record=Path("run.jsonl"),
    )


def _entry(name: str, level: str = "must", capability: str | None = None) -> Requirement:
    return Requirement(name, name.partition(".")[0], level, "t", ("d",), "2.8", capability=capability)  # type: ignore[arg-type]


def test_a_pass_is_short() -> None:
    summary = _summary([TestResult("t", ("a.b",), Verdict.PASS)], [_entry("a.b")])
    assert render(summary).splitlines()[2:] == [
        "pass             1        1         0                0",
        "",
        "conforms in: core",
        "",
        "record: run.jsonl",
    ]
    assert summary.claim.line == "CONFORMS: fake as cuda 2.13: 1 of 1 musts met; 0 of 0 pieces of advice followed"


def test_musts_come_first_then_the_gravest_and_the_open_last() -> None:
    entries = [
        _entry("a.open", "may"),
        _entry("a.advised", "should"),
        _entry("a.promised"),
        _entry("a.crashing", "should"),
    ]
    verdicts = [Verdict.FAIL, Verdict.FAIL, Verdict.FAIL, Verdict.CRASH]
    results = [
        TestResult(f"t{number}", (entry.id,), verdict, message="many\nlines " + "x" * 200)
        for number, (entry, verdict) in enumerate(zip(entries, verdicts, strict=True))
    ]
    lines = render(_summary(results, entries)).splitlines()
    rows = [line for line in lines if line.startswith("a.")]
    assert [row.split()[0] for row in rows] == ["a.promised", "a.crashing", "a.advised", "a.open"]
    seen = [line.strip() for line in lines if "many lines" in line and "seen: " in line]
    assert len(seen) == len(rows)
    assert all(line.endswith("…") for line in seen)


def test_a_long_table_is_cut_and_the_others_are_counted() -> None:
    entries = [_entry(f"a.r{number:03}") for number in range(45)]
    results = [TestResult(entry.id, (entry.id,), Verdict.FAIL, message="m") for entry in entries]
    text = render(_summary(results, entries))
    assert "… and 25 more requirements: a 25" in text


def test_scripts_that_were_run_are_counted() -> None:
    outcomes = ["shown", "shown", "passed", "otherwise", None]
    results = [
        TestResult(
            f"t{number}",
            ("a.b",),
            Verdict.FAIL,
            reproducer=None if outcome == "otherwise" else "print()",
            reproduction=None if outcome is None else {"outcome": outcome, "why": "w"},
        )
        for number, outcome in enumerate(outcomes)
    ]
    lines = render(_summary(results, [_entry("a.b")])).splitlines()
    assert (
        "scripts run alone: 2 of 4 show their failure; 1 pass, so that the failure needs what went before it; "
        "1 failed of something else and were dropped; 1 were not run for want of time"
    ) in lines


@pytest.mark.parametrize(
    ("pooled", "core", "profiles", "said"),
    [
        (Verdict.UNSUPPORTED, Verdict.WAIVED, (), True),
        (Verdict.UNSUPPORTED, Verdict.WAIVED, ("pools",), True),
        (Verdict.UNSUPPORTED, Verdict.WAIVED, ("core",), False),  # ends with 0
        (Verdict.UNSUPPORTED, Verdict.PASS, (), False),  # nothing is waived
        (Verdict.UNSUPPORTED, Verdict.FAIL, (), False),  # the failure is why
        (Verdict.PASS, Verdict.WAIVED, (), False),  # ends with 0
    ],
)
def test_a_line_says_that_waivers_cover_nothing_that_was_declined(
    pooled: Verdict, core: Verdict, profiles: tuple[str, ...], said: bool
) -> None:
    entries = [_entry("pools.p", capability="pools"), _entry("a.b"), _entry("a.c")]
    results = [
        TestResult(name, (name,), verdict)
        for name, verdict in (("pools.p", pooled), ("a.b", core), ("a.c", Verdict.WAIVED))
        if core is not Verdict.PASS or name != "a.c"
    ]
    summary = _summary(results, entries[: len(results)], target=Target(profiles))
    line = "waivers cover each failed must, and none that was declined or not tried (pools): exit status 1"
    assert (line in render(summary).splitlines()) is said
    if said:
        assert summary.assessment.exit_status is ExitStatus.NOT_CONFORMING
