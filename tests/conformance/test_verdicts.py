"""One function judges every run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.errors import ExitStatus
from conformance.records.result import TestResult
from conformance.records.verdicts import Assessment, RunVerdict, Verdict, assess
from conformance.requirements.registry import Requirement

MUST = Requirement("a.must", "a", "must", "t", ("d",), "2.8")
SHOULD = Requirement("a.should", "a", "should", "t", ("d",), "2.8")
MAY = Requirement("a.may", "a", "may", "t", ("d",), "2.8")
POOLED = Requirement("a.pooled", "a", "must", "t", ("d",), "2.8", capability="pools")
LATE = Requirement("a.late", "a", "must", "t", ("d",), "2.14")
HOPELESS = Requirement("a.hopeless", "a", "must", "t", ("d",), "2.8", untestable="why")


def _assess(
    *outcomes: tuple[Requirement, Verdict], more: tuple[Requirement, ...] = (), **settings: object
) -> Assessment:
    entries = {entry.id: entry for entry, _ in outcomes} | {entry.id: entry for entry in more}
    results = [TestResult(f"t{number}", (entry.id,), verdict) for number, (entry, verdict) in enumerate(outcomes)]
    values = {"planned": {}, "dialect": "cuda", "revision": "2.13", "capabilities": {}} | settings
    return assess(entries.values(), results, **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("verdict", "run", "status"),
    [
        (Verdict.PASS, RunVerdict.PASS, ExitStatus.CONFORMING),
        (Verdict.UNSUPPORTED, RunVerdict.PASS, ExitStatus.CONFORMING),
        (Verdict.SKIPPED, RunVerdict.INCOMPLETE, ExitStatus.NOT_CONFORMING),
        (Verdict.NOT_RUN, RunVerdict.INCOMPLETE, ExitStatus.NOT_CONFORMING),
        (Verdict.FAIL, RunVerdict.FAIL, ExitStatus.NOT_CONFORMING),
        (Verdict.TIMEOUT, RunVerdict.FAIL, ExitStatus.NOT_CONFORMING),
        (Verdict.CRASH, RunVerdict.FAIL, ExitStatus.NOT_CONFORMING),
        (Verdict.ERROR, RunVerdict.ERROR, ExitStatus.KIT_FAILED),
    ],
)
@pytest.mark.parametrize("entry", [MUST, SHOULD], ids=["must", "should"])
def test_a_scored_requirement_decides_the_run(
    entry: Requirement, verdict: Verdict, run: RunVerdict, status: ExitStatus
) -> None:
    assessment = _assess((MUST, Verdict.PASS), (entry, verdict))
    assert assessment.verdict is run
    assert assessment.verdict.exit_status is status


@pytest.mark.parametrize(
    ("verdict", "run"),
    [
        (Verdict.FAIL, RunVerdict.PASS),
        (Verdict.SKIPPED, RunVerdict.PASS),
        (Verdict.CRASH, RunVerdict.FAIL),
        (Verdict.TIMEOUT, RunVerdict.FAIL),
        (Verdict.ERROR, RunVerdict.ERROR),
    ],
)
def test_what_is_left_open_is_judged_only_for_crashes(verdict: Verdict, run: RunVerdict) -> None:
    assessment = _assess((MUST, Verdict.PASS), (MAY, verdict))
    assert assessment.verdict is run
    assert assessment.scored == {Verdict.PASS: 1}


@pytest.mark.parametrize(
    ("verdicts", "worst"),
    [
        ([Verdict.PASS, Verdict.FAIL], Verdict.FAIL),
        ([Verdict.FAIL, Verdict.CRASH, Verdict.TIMEOUT], Verdict.CRASH),
        ([Verdict.PASS, Verdict.UNSUPPORTED], Verdict.PASS),
        ([Verdict.UNSUPPORTED, Verdict.UNSUPPORTED], Verdict.UNSUPPORTED),
        ([Verdict.SKIPPED, Verdict.FAIL], Verdict.FAIL),
    ],
)
def test_a_requirement_has_the_worst_verdict_of_its_tests(verdicts: list[Verdict], worst: Verdict) -> None:
    assert _assess(*((MUST, verdict) for verdict in verdicts)).requirements == {MUST.id: worst}


def test_a_requirement_that_no_test_tried_leaves_the_run_partial() -> None:
    assessment = _assess((MUST, Verdict.PASS), more=(SHOULD,))
    assert assessment.verdict is RunVerdict.PARTIAL
    assert assessment.requirements[SHOULD.id] is Verdict.NOT_RUN


def test_a_narrowed_run_is_partial_even_when_all_requirements_passed() -> None:
    assert _assess((MUST, Verdict.PASS), narrowed=True).verdict is RunVerdict.PARTIAL


def test_a_planned_test_without_a_result_was_not_run() -> None:
    assessment = _assess((MUST, Verdict.PASS), planned={"t0": (MUST.id,), "lost": (MUST.id,)})
    assert assessment.verdict is RunVerdict.INCOMPLETE
    assert assessment.tests == {Verdict.PASS: 1, Verdict.NOT_RUN: 1}
    assert assessment.requirements[MUST.id] is Verdict.NOT_RUN


def test_no_results_are_no_pass() -> None:
    assert _assess(more=(MUST,)).verdict is RunVerdict.INCOMPLETE


def test_an_absent_capability_is_unsupported_without_any_test() -> None:
    assessment = _assess((MUST, Verdict.PASS), more=(POOLED,), capabilities={"pools": False})
    assert assessment.verdict is RunVerdict.PASS
    assert assessment.scored == {Verdict.PASS: 1, Verdict.UNSUPPORTED: 1}


def test_requirements_that_do_not_hold_are_kept_apart() -> None:
    assessment = _assess((MUST, Verdict.PASS), more=(LATE, HOPELESS))
    assert assessment.not_applicable == (LATE.id,)
    assert assessment.untestable == (HOPELESS.id,)
    assert assessment.verdict is RunVerdict.PASS


@given(st.lists(st.tuples(st.sampled_from([MUST, SHOULD, MAY]), st.sampled_from(Verdict))))
def test_a_pass_means_that_nothing_scored_is_worse_than_unsupported(
    outcomes: list[tuple[Requirement, Verdict]],
) -> None:
    assessment = _assess(*outcomes)
    if assessment.verdict is RunVerdict.PASS:
        assert set(assessment.scored) <= {Verdict.PASS, Verdict.UNSUPPORTED}
    assert sum(assessment.tests.values()) == len(outcomes)
