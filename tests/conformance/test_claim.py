"""One function says what a run comes to; terminals, footers and pages repeat it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reports
from conformance import start  # noqa: F401 - before pytester takes stock of modules
from conformance.records.assessment import Target, assess
from conformance.records.claim import Claim, claim
from conformance.records.outcomes import Outcomes
from conformance.records.record import Record
from conformance.records.result import TestResult
from conformance.records.verdicts import RunVerdict, Verdict
from conformance.requirements.registry import Requirement
from conformance.session import executor, recorder  # noqa: F401 - likewise
from reports.words import STANDINGS
from tests.conformance.conftest import Kit
from tests.reports.samples import FAIL, PASS, REQUIREMENTS, result, sample

pytest_plugins = ["pytester"]

_SCORED = [entry.id for entry in REQUIREMENTS if entry.scored and entry.holds_for("cuda", "2.14")]
#: Behind the capability that the samples' header declares absent: no test of it can have run.
_ABSENT = {entry.id for entry in REQUIREMENTS if entry.capability == "capture_modes"}


def _pages(record: Record, folder: Path) -> str:
    return "".join(path.read_text(encoding="utf-8") for path in reports.write([record], folder, single=True))


@settings(max_examples=40, deadline=None)
@given(
    verdicts=st.lists(st.sampled_from([*Verdict]), max_size=len(_SCORED)),
    planned=st.booleans(),
    ended=st.booleans(),
    narrowed=st.booleans(),
)
def test_every_voice_says_the_same(verdicts: list[Verdict], *, planned: bool, ended: bool, narrowed: bool) -> None:
    results = [
        result(
            f"t.py::test_{number}",
            identity,
            Verdict.UNSUPPORTED if identity in _ABSENT else verdict,
            runs={"pass": 1, "fail": 1} if verdict is Verdict.FLAKY and identity not in _ABSENT else None,
        )
        for number, (identity, verdict) in enumerate(zip(_SCORED, verdicts, strict=False))
        if verdict is not Verdict.NOT_RUN
    ]
    plan = {f"suites/t.py::test_{number}": (identity,) for number, identity in enumerate(_SCORED)} if planned else None
    with tempfile.TemporaryDirectory() as folder:
        options = {"reruns": 1}
        record = sample(
            Path(folder, "run.jsonl"), results, planned=plan, ended=ended, narrowed=narrowed, options=options
        )
        verdict = record.assessment.verdict
        assert record.claim.verdict is verdict
        lead, _, numbers = record.claim.line.partition(": sample.Graph as cuda 2.14: ")
        assert (lead == "NO CLAIM") == ("no claim" in record.claim.headline.lower())
        assert _pages(record, Path(folder, "out")).count(f"{STANDINGS[verdict].symbol} {record.claim.headline}") == 1
        assert record.claim.detail.startswith(f"As cuda 2.14: {numbers.partition('; ')[0]}")
        assert (lead == "CONFORMS") == (record.claim.headline == "Conforms.") == (verdict is RunVerdict.CONFORMS)
        assert ended or verdict not in {RunVerdict.CONFORMS, RunVerdict.CONFORMS_IN_PART, RunVerdict.NARROWED}


@pytest.mark.parametrize("ended", [True, False])
def test_a_failure_counts_however_the_run_ended(tmp_path: Path, ended: bool) -> None:
    plan = {"suites/t.py::test_a": (_SCORED[0],), "suites/t.py::test_b": (_SCORED[1],)}
    results = [result("t.py::test_a", _SCORED[0], FAIL)]
    footer = {"complete": False, "verdict": "does_not_conform"}
    record = sample(tmp_path / "run.jsonl", results, planned=plan, ended=ended, footer=footer)
    assert record.claim.verdict is RunVerdict.DOES_NOT_CONFORM
    assert record.claim.headline == "Does not conform."
    assert record.claim.detail.endswith(
        "The run ended before every planned test had a result."
        if ended
        else "The record ends after suites/t.py::test_a, before the run said that it was over."
    )


def test_a_record_without_its_footer_claims_nothing(tmp_path: Path) -> None:
    results = [
        result(f"t.py::test_{number}", identity, Verdict.UNSUPPORTED if identity in _ABSENT else PASS)
        for number, identity in enumerate(_SCORED)
    ]
    whole, cut = sample(tmp_path / "whole.jsonl", results), sample(tmp_path / "cut.jsonl", results, ended=False)
    assert whole.claim.line.startswith("CONFORMS IN PART: ")
    assert cut.claim.line.startswith("NO CLAIM: ")
    assert cut.claim.headline == "Incomplete record: no claim."


MUST = Requirement("a.must", "a", "must", "t", ("d",), "2.8")
OTHER = Requirement("a.other", "a", "must", "t", ("d",), "2.8")
POOLED = Requirement("a.pooled", "a", "must", "t", ("d",), "2.8", capability="pools")
ADVICE = Requirement("a.advice", "a", "should", "t", ("d",), "2.8")
LONG = Requirement("a.long", "a", "must", "t", ("d",), "2.8", composite=True)


def _claim(verdicts: dict[Requirement, Verdict], *, target: Target | None = None, narrowed: bool = False) -> Claim:
    results = [TestResult(entry.id, (entry.id,), verdict) for entry, verdict in verdicts.items()]
    assessment = assess(
        [MUST, OTHER, POOLED, ADVICE, LONG],
        Outcomes.of(one for one in results if one.verdict is not Verdict.NOT_RUN),
        dialect="cuda",
        revision="2.14",
        capabilities={},
        target=target,
        narrowed=narrowed,
    )
    return claim(assessment, implementation="x", dialect="cuda", revision="2.14")


ALL = dict.fromkeys([MUST, OTHER, POOLED, ADVICE, LONG], PASS)


@pytest.mark.parametrize(
    ("verdicts", "settings", "line", "headline"),
    [
        ({}, {}, "CONFORMS: {}: 3 of 3 musts met; 1 of 1 pieces of advice followed", "Conforms."),
        (
            {ADVICE: FAIL},
            {},
            "CONFORMS: {}: 3 of 3 musts met; 0 of 1 pieces of advice followed, 1 not followed",
            "Conforms.",
        ),
        (
            {ADVICE: Verdict.CRASH},
            {},
            (
                "CONFORMS: {}: 3 of 3 musts met; 0 of 1 pieces of advice followed, 1 not followed; "
                "1 test outside the musts crashed or hung"
            ),
            "Conforms.",
        ),
        (
            {POOLED: Verdict.UNSUPPORTED},
            {},
            (
                "CONFORMS IN PART: {}: 2 of 3 musts met, 1 declined; 1 of 1 pieces of advice followed; "
                "musts were declined or not tried in pools; conforms in core"
            ),
            "Conforms in part: core.",
        ),
        (
            {POOLED: FAIL},
            {"target": Target(("core",))},
            "CONFORMS IN PART: {}: 2 of 3 musts met, 1 not met; 1 of 1 pieces of advice followed; conforms in core",
            "Conforms in part: core.",
        ),
        (
            {POOLED: Verdict.UNSUPPORTED},
            {"target": Target(("core", "pools"))},
            (
                "DOES NOT CONFORM: {}: 2 of 3 musts met, 1 declined; 1 of 1 pieces of advice followed; "
                "musts were declined or not tried in pools; asked for: core, pools"
            ),
            "Does not conform in what was asked for: core, pools.",
        ),
        (
            {OTHER: Verdict.WAIVED, MUST: FAIL},
            {},
            "DOES NOT CONFORM: {}: 1 of 3 musts met, 1 not met, 1 waived; 1 of 1 pieces of advice followed",
            "Does not conform.",
        ),
        (
            {LONG: FAIL},
            {},
            (
                "DOES NOT CONFORM: {}: 3 of 3 musts met; 1 of 1 pieces of advice followed; "
                "0 of 1 long programs right, 1 not right"
            ),
            "Does not conform.",
        ),
        (
            {OTHER: Verdict.NOT_RUN, POOLED: FAIL, ADVICE: Verdict.NOT_RUN},
            {"narrowed": True},
            "DOES NOT CONFORM: {}: 1 must met, 1 not met, 1 not run; 0 pieces of advice followed, 1 not run",
            "Does not conform.",
        ),
        (
            {OTHER: Verdict.NOT_RUN},
            {"narrowed": True},
            (
                "NO CLAIM: {}: 2 musts met, 1 not run; 1 of 1 pieces of advice followed; "
                "only a part of the suites was selected, so no claim can rest on this run"
            ),
            "No claim: only a part of the suites was selected.",
        ),
    ],
)
def test_the_words_of_a_claim(
    verdicts: dict[Requirement, Verdict], settings: dict[str, Any], line: str, headline: str
) -> None:
    text = _claim({**ALL, **verdicts}, **settings)
    assert text.line == line.format("x as cuda 2.14")
    assert text.headline == headline


def test_a_claim_names_the_advice_that_is_not_followed() -> None:
    assert _claim({**ALL, ADVICE: FAIL}).exceptions == (ADVICE.id,)


def test_terminal_footer_and_page_agree_on_a_run_that_stopped_early(kit: Kit) -> None:
    kit.tests("""
        @requirement("alpha.one")
        def test_one(impl): fail("p", "s")

        @requirement("alpha.two")
        def test_two(impl): ...
    """)
    result, record = kit.recorded("-x")
    assert record.footer is not None
    assert (record.footer.verdict, record.footer.complete) == ("does_not_conform", False)
    result.stdout.fnmatch_lines([record.claim.line])
    assert record.claim.line.startswith("DOES NOT CONFORM: ")
    assert record.claim.headline == "Does not conform."
