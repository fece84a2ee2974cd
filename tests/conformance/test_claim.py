"""One function says what a run comes to; terminals, footers and pages repeat it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reports
from conformance import start  # noqa: F401 - before pytester takes stock of modules
from conformance.records.claim import claim
from conformance.records.record import Record
from conformance.records.verdicts import RunVerdict, Verdict
from conformance.session import executor, recorder  # noqa: F401 - likewise
from reports.words import STANDINGS
from tests.conformance.conftest import Kit
from tests.reports.samples import FAIL, PASS, REQUIREMENTS, result, sample

pytest_plugins = ["pytester"]

_SCORED = [entry.id for entry in REQUIREMENTS if entry.scored and entry.holds_for("cuda", "2.14")]


def _pages(record: Record, folder: Path) -> str:
    return "".join(path.read_text(encoding="utf-8") for path in reports.write([record], folder))


@settings(max_examples=40, deadline=None)
@given(
    verdicts=st.lists(st.sampled_from([*Verdict]), max_size=len(_SCORED)),
    planned=st.booleans(),
    ended=st.booleans(),
    narrowed=st.booleans(),
)
def test_every_voice_says_the_same(verdicts: list[Verdict], *, planned: bool, ended: bool, narrowed: bool) -> None:
    results = [
        result(f"t.py::test_{number}", identity, verdict)
        for number, (identity, verdict) in enumerate(zip(_SCORED, verdicts, strict=False))
        if verdict is not Verdict.NOT_RUN
    ]
    plan = {f"suites/t.py::test_{number}": (identity,) for number, identity in enumerate(_SCORED)} if planned else None
    with tempfile.TemporaryDirectory() as folder:
        record = sample(Path(folder, "run.jsonl"), results, planned=plan, ended=ended, narrowed=narrowed)
        verdict = record.assessment.verdict
        assert record.claim.verdict is verdict
        assert record.claim.line.startswith(f"{verdict.value.upper()}: sample.Graph as cuda 2.14: ")
        assert _pages(record, Path(folder, "out")).count(f"{STANDINGS[verdict].symbol} {record.claim.headline}") == 1
        assert (record.claim.headline == "The claim holds.") == (verdict is RunVerdict.PASS)
        assert ended or verdict not in {RunVerdict.PASS, RunVerdict.PARTIAL}


@pytest.mark.parametrize("ended", [True, False])
def test_a_failure_counts_however_the_run_ended(tmp_path: Path, ended: bool) -> None:
    plan = {"suites/t.py::test_a": (_SCORED[0],), "suites/t.py::test_b": (_SCORED[1],)}
    results = [result("t.py::test_a", _SCORED[0], FAIL)]
    footer = {"complete": False, "verdict": "fail"}
    record = sample(tmp_path / "run.jsonl", results, planned=plan, ended=ended, footer=footer)
    assert record.claim.verdict is RunVerdict.FAIL
    assert record.claim.headline == "The claim does not hold."
    assert record.claim.detail.endswith(
        "The run ended before every planned test had a result."
        if ended
        else "The record ends after suites/t.py::test_a, before the run said that it was over."
    )


def test_a_record_without_its_footer_claims_nothing(tmp_path: Path) -> None:
    results = [result(f"t.py::test_{number}", identity, PASS) for number, identity in enumerate(_SCORED)]
    whole, cut = sample(tmp_path / "whole.jsonl", results), sample(tmp_path / "cut.jsonl", results, ended=False)
    assert whole.claim.line.startswith("PASS: ")
    assert cut.claim.line.startswith("INCOMPLETE: ")
    assert cut.claim.headline == "Incomplete record: no claim."


def test_the_words_of_one_claim(tmp_path: Path) -> None:
    assessment = sample(tmp_path / "run.jsonl").assessment
    text = claim(assessment, implementation="x", dialect="cuda", revision="2.14")
    assert (
        text.line == "PASS: x as cuda 2.14: 4 of 4 scored requirements met (1 more behind capabilities declared absent)"
    )
    assert text.detail == (
        "All 5 scored requirements of revision 2.14 for the cuda dialect are met, "
        "apart from 1 behind a feature declared absent."
    )


def test_terminal_footer_and_page_agree_on_a_run_that_stopped_early(kit: Kit) -> None:
    kit.tests("""
        @requirement("alpha.one")
        def test_one(impl): fail("p", "s")

        @requirement("alpha.two")
        def test_two(impl): ...
    """)
    result, record = kit.recorded("-x")
    assert record.footer is not None
    assert (record.footer.verdict, record.footer.complete) == ("fail", False)
    result.stdout.fnmatch_lines([record.claim.line])
    assert record.claim.line.startswith("FAIL: ")
    assert record.claim.headline == "The claim does not hold."
