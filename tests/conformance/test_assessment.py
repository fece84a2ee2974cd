"""One function judges every run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.errors import ExitStatus
from conformance.records.assessment import Assessment, Standing, Target, assess
from conformance.records.outcomes import Outcomes
from conformance.records.result import TestResult
from conformance.records.verdicts import RunVerdict, Verdict
from conformance.requirements.registry import Requirement

MUST = Requirement("a.must", "a", "must", "t", ("d",), "2.8")
SHOULD = Requirement("a.should", "a", "should", "t", ("d",), "2.8")
MAY = Requirement("a.may", "a", "may", "t", ("d",), "2.8")
POOLED = Requirement("a.pooled", "a", "must", "t", ("d",), "2.8", capability="pools")
HOOKED = Requirement("a.hooked", "a", "must", "t", ("d",), "2.8", capability="hooks")
LATE = Requirement("a.late", "a", "must", "t", ("d",), "2.14")
LIFTED = Requirement("a.lifted", "a", "must", "t", ("d",), "2.8", until="2.11")
HOPELESS = Requirement("a.hopeless", "a", "must", "t", ("d",), "2.8", untestable="why")
LONG = Requirement("a.long", "a", "must", "t", ("d",), "2.8", composite=True)
ELSEWHERE = Requirement("a.elsewhere", "a", "must", "t", ("d",), "2.8", advised=("cuda",))

STRICT = Target(strict=True)


def _assess(
    *outcomes: tuple[Requirement, Verdict],
    more: tuple[Requirement, ...] = (),
    planned: dict[str, tuple[str, ...]] | None = None,
    **settings: object,
) -> Assessment:
    entries = {entry.id: entry for entry, _ in outcomes} | {entry.id: entry for entry in more}
    results = [TestResult(f"t{number}", (entry.id,), verdict) for number, (entry, verdict) in enumerate(outcomes)]
    values = {"dialect": "cuda", "revision": "2.13", "capabilities": {}} | settings
    return assess(entries.values(), Outcomes.of(results, planned), **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("verdict", "run", "status"),
    [
        (Verdict.PASS, RunVerdict.CONFORMS, ExitStatus.CONFORMING),
        (Verdict.UNSUPPORTED, RunVerdict.CONFORMS_IN_PART, ExitStatus.NOT_CONFORMING),
        (Verdict.SKIPPED, RunVerdict.INCOMPLETE, ExitStatus.NOT_CONFORMING),
        (Verdict.NOT_RUN, RunVerdict.INCOMPLETE, ExitStatus.NOT_CONFORMING),
        (Verdict.WAIVED, RunVerdict.DOES_NOT_CONFORM, ExitStatus.CONFORMING),
        (Verdict.FAIL, RunVerdict.DOES_NOT_CONFORM, ExitStatus.NOT_CONFORMING),
        (Verdict.TIMEOUT, RunVerdict.DOES_NOT_CONFORM, ExitStatus.NOT_CONFORMING),
        (Verdict.CRASH, RunVerdict.DOES_NOT_CONFORM, ExitStatus.NOT_CONFORMING),
        (Verdict.ERROR, RunVerdict.ERROR, ExitStatus.KIT_FAILED),
    ],
)
@pytest.mark.parametrize("entry", [POOLED, LONG], ids=["must", "long-program"])
def test_a_must_decides_the_run(entry: Requirement, verdict: Verdict, run: RunVerdict, status: ExitStatus) -> None:
    assessment = _assess((MUST, Verdict.PASS), (entry, verdict))
    assert (assessment.verdict, assessment.exit_status) == (run, status)


@pytest.mark.parametrize("entry", [SHOULD, ELSEWHERE, MAY], ids=lambda entry: entry.id)
@pytest.mark.parametrize("verdict", [Verdict.FAIL, Verdict.CRASH, Verdict.TIMEOUT, Verdict.UNSUPPORTED])
def test_advice_and_what_is_left_open_decide_nothing_but_a_strict_run(entry: Requirement, verdict: Verdict) -> None:
    outcomes = ((MUST, Verdict.PASS), (entry, verdict))
    assessment = _assess(*outcomes)
    assert (assessment.verdict, assessment.exit_status) == (RunVerdict.CONFORMS, ExitStatus.CONFORMING)
    assert assessment.musts == {Verdict.PASS: 1}
    strict = _assess(*outcomes, target=STRICT)
    assert strict.verdict is RunVerdict.CONFORMS
    harmless = entry is MAY and verdict in {Verdict.FAIL, Verdict.UNSUPPORTED}
    assert strict.exit_status is (ExitStatus.CONFORMING if harmless else ExitStatus.NOT_CONFORMING)


def test_each_piece_of_advice_that_is_not_followed_is_named() -> None:
    assessment = _assess((MUST, Verdict.PASS), (SHOULD, Verdict.FAIL), (ELSEWHERE, Verdict.WAIVED), (MAY, Verdict.FAIL))
    assert assessment.exceptions == (SHOULD.id, ELSEWHERE.id)
    assert assessment.advice == {Verdict.WAIVED: 1, Verdict.FAIL: 1}


def test_crashes_outside_the_musts_are_counted() -> None:
    crashes = _assess((MUST, Verdict.CRASH), (SHOULD, Verdict.CRASH), (MAY, Verdict.TIMEOUT)).hazards
    assert crashes == 2


def test_long_programs_are_judged_and_counted_apart() -> None:
    assessment = _assess((MUST, Verdict.PASS), (LONG, Verdict.FAIL))
    assert assessment.verdict is RunVerdict.DOES_NOT_CONFORM
    assert assessment.musts == {Verdict.PASS: 1}
    assert assessment.composites == {Verdict.FAIL: 1}


def test_what_another_dialect_documents_is_advice() -> None:
    assert _assess((ELSEWHERE, Verdict.PASS)).levels == {ELSEWHERE.id: "should"}
    assert _assess((ELSEWHERE, Verdict.PASS), dialect="xpu").levels == {ELSEWHERE.id: "must"}


# -- profiles ---------------------------------------------------------------------------------------------------------


def test_what_is_declined_makes_the_claim_partial_and_stays_in_the_total() -> None:
    assessment = _assess((MUST, Verdict.PASS), more=(POOLED,), capabilities={"pools": False})
    assert assessment.verdict is RunVerdict.CONFORMS_IN_PART
    assert assessment.exit_status is ExitStatus.NOT_CONFORMING
    assert assessment.musts == {Verdict.PASS: 1, Verdict.UNSUPPORTED: 1}
    assert assessment.profiles == {"core": Standing.MET, "pools": Standing.DECLINED}
    assert assessment.declined == ("pools",)


@pytest.mark.parametrize("verdict", [Verdict.UNSUPPORTED, Verdict.FAIL, Verdict.CRASH])
def test_a_profile_asked_for_is_judged_by_its_own_musts(verdict: Verdict) -> None:
    outcomes = ((MUST, Verdict.PASS), (HOOKED, Verdict.PASS), (POOLED, verdict))
    asked = _assess(*outcomes, target=Target(("core", "hooks")))
    assert (asked.verdict, asked.exit_status) == (RunVerdict.CONFORMS_IN_PART, ExitStatus.CONFORMING)
    other = _assess(*outcomes, target=Target(("core", "pools")))
    assert (other.verdict, other.exit_status) == (RunVerdict.DOES_NOT_CONFORM, ExitStatus.NOT_CONFORMING)


def test_a_profile_asked_for_of_a_class_that_conforms_takes_nothing_from_it() -> None:
    assessment = _assess((MUST, Verdict.PASS), (POOLED, Verdict.PASS), target=Target(("core",)))
    assert assessment.verdict is RunVerdict.CONFORMS


def test_a_strict_run_asks_for_the_advice_of_its_profiles() -> None:
    pooled_advice = Requirement("a.advice", "a", "should", "t", ("d",), "2.8", capability="pools")
    outcomes = ((MUST, Verdict.PASS), (POOLED, Verdict.PASS), (pooled_advice, Verdict.FAIL))
    assert _assess(*outcomes, target=Target(("core",), strict=True)).exit_status is ExitStatus.CONFORMING
    assert _assess(*outcomes, target=Target(("core", "pools"), strict=True)).exit_status is ExitStatus.NOT_CONFORMING


@pytest.mark.parametrize(
    ("verdict", "standing"),
    [
        (Verdict.PASS, Standing.MET),
        (Verdict.UNSUPPORTED, Standing.DECLINED),
        (Verdict.NOT_RUN, Standing.UNDECIDED),
        (Verdict.SKIPPED, Standing.UNDECIDED),
        (Verdict.ERROR, Standing.UNDECIDED),
        (Verdict.WAIVED, Standing.NOT_MET),
        (Verdict.FAIL, Standing.NOT_MET),
    ],
)
def test_the_standing_of_a_profile(verdict: Verdict, standing: Standing) -> None:
    assert _assess((MUST, Verdict.PASS), (POOLED, verdict)).profiles["pools"] is standing


def test_a_narrowed_run_decides_no_profile_but_those_that_are_broken() -> None:
    profiles = _assess((MUST, Verdict.PASS), (POOLED, Verdict.FAIL), narrowed=True).profiles
    assert profiles == {"core": Standing.UNDECIDED, "pools": Standing.NOT_MET}


# -- waivers ----------------------------------------------------------------------------------------------------------


def test_a_waiver_makes_the_exit_status_better_and_the_claim_no_better() -> None:
    waived = _assess((MUST, Verdict.PASS), (POOLED, Verdict.WAIVED))
    assert (waived.verdict, waived.exit_status) == (RunVerdict.DOES_NOT_CONFORM, ExitStatus.CONFORMING)
    assert waived.musts == {Verdict.PASS: 1, Verdict.WAIVED: 1}
    another = _assess((MUST, Verdict.FAIL), (POOLED, Verdict.WAIVED))
    assert another.exit_status is ExitStatus.NOT_CONFORMING
    partial = _assess((MUST, Verdict.WAIVED), (POOLED, Verdict.UNSUPPORTED))
    assert partial.exit_status is ExitStatus.NOT_CONFORMING


def test_waived_advice_satisfies_a_strict_run() -> None:
    assert _assess((MUST, Verdict.PASS), (SHOULD, Verdict.WAIVED), target=STRICT).exit_status is ExitStatus.CONFORMING


# -- what was run -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verdict", [Verdict.SKIPPED, Verdict.NOT_RUN])
def test_advice_that_was_planned_and_did_not_run_leaves_the_run_incomplete(verdict: Verdict) -> None:
    assert _assess((MUST, Verdict.PASS), (SHOULD, verdict)).verdict is RunVerdict.INCOMPLETE


@pytest.mark.parametrize(
    ("verdicts", "worst"),
    [
        ([Verdict.PASS, Verdict.FAIL], Verdict.FAIL),
        ([Verdict.FAIL, Verdict.CRASH, Verdict.TIMEOUT], Verdict.CRASH),
        ([Verdict.PASS, Verdict.UNSUPPORTED], Verdict.PASS),
        ([Verdict.UNSUPPORTED, Verdict.UNSUPPORTED], Verdict.UNSUPPORTED),
        ([Verdict.SKIPPED, Verdict.FAIL], Verdict.FAIL),
        ([Verdict.WAIVED, Verdict.PASS], Verdict.WAIVED),
        ([Verdict.WAIVED, Verdict.FAIL], Verdict.FAIL),
    ],
)
def test_a_requirement_has_the_worst_verdict_of_its_tests(verdicts: list[Verdict], worst: Verdict) -> None:
    assert _assess(*((MUST, verdict) for verdict in verdicts)).requirements == {MUST.id: worst}


@pytest.mark.parametrize("entry", [POOLED, SHOULD])
def test_a_requirement_that_no_test_tried_leaves_the_run_narrowed(entry: Requirement) -> None:
    assessment = _assess((MUST, Verdict.PASS), more=(entry,))
    assert assessment.verdict is RunVerdict.NARROWED
    assert assessment.requirements[entry.id] is Verdict.NOT_RUN


def test_a_narrowed_run_makes_no_claim_even_when_all_requirements_passed() -> None:
    assessment = _assess((MUST, Verdict.PASS), narrowed=True)
    assert (assessment.verdict, assessment.exit_status) == (RunVerdict.NARROWED, ExitStatus.CONFORMING)
    assert _assess((MUST, Verdict.FAIL), narrowed=True).verdict is RunVerdict.DOES_NOT_CONFORM


def test_a_narrowed_strict_run_asks_for_the_advice_that_was_run() -> None:
    settings = {"narrowed": True, "target": STRICT, "more": (ELSEWHERE,)}
    assert _assess((SHOULD, Verdict.PASS), **settings).exit_status is ExitStatus.CONFORMING  # type: ignore[arg-type]
    assert _assess((SHOULD, Verdict.FAIL), **settings).exit_status is ExitStatus.NOT_CONFORMING  # type: ignore[arg-type]


@pytest.mark.parametrize("entry", [SHOULD, MAY])
@pytest.mark.parametrize("verdict", [Verdict.CRASH, Verdict.TIMEOUT])
def test_a_crash_outside_the_musts_counts_in_a_narrowed_run_as_in_a_whole_one(
    entry: Requirement, verdict: Verdict
) -> None:
    outcomes = ((MUST, Verdict.PASS), (entry, verdict))
    for narrowed in (False, True):
        assessment = _assess(*outcomes, narrowed=narrowed)
        assert (assessment.exit_status, assessment.hazards) == (ExitStatus.CONFORMING, 1)
        strict = _assess(*outcomes, narrowed=narrowed, target=STRICT)
        assert strict.exit_status is ExitStatus.NOT_CONFORMING


def test_a_planned_test_without_a_result_was_not_run() -> None:
    assessment = _assess((MUST, Verdict.PASS), planned={"t0": (MUST.id,), "lost": (MUST.id,)})
    assert assessment.verdict is RunVerdict.INCOMPLETE
    assert assessment.tests == {Verdict.PASS: 1, Verdict.NOT_RUN: 1}
    assert assessment.requirements[MUST.id] is Verdict.NOT_RUN


def test_no_results_are_no_pass() -> None:
    assert _assess(more=(MUST,)).verdict is RunVerdict.INCOMPLETE


def test_a_run_that_did_not_end_makes_no_claim() -> None:
    assert _assess((MUST, Verdict.PASS), ended=False).verdict is RunVerdict.INCOMPLETE
    assert _assess((MUST, Verdict.PASS), stopped=True).exit_status is ExitStatus.KIT_FAILED


def test_requirements_that_do_not_hold_are_kept_apart() -> None:
    assessment = _assess((MUST, Verdict.PASS), more=(LATE, LIFTED, HOPELESS))
    assert assessment.not_applicable == (LATE.id, LIFTED.id)
    assert assessment.untestable == (HOPELESS.id,)
    assert assessment.verdict is RunVerdict.CONFORMS


@given(st.lists(st.tuples(st.sampled_from([MUST, POOLED, SHOULD, MAY, LONG]), st.sampled_from(Verdict))))
def test_to_conform_means_that_every_must_is_met(outcomes: list[tuple[Requirement, Verdict]]) -> None:
    assessment = _assess(*outcomes)
    met = {assessment.requirements[name] for name, level in assessment.levels.items() if level == "must"}
    assert (assessment.verdict is RunVerdict.CONFORMS) <= (met <= {Verdict.PASS})
    assert (assessment.exit_status is ExitStatus.CONFORMING) <= (met <= {Verdict.PASS, Verdict.WAIVED})
    assert sum(assessment.tests.values()) == len(outcomes)
