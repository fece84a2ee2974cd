"""By which level a fault was rejected, what a variant may decline, and what the table says of both."""

from __future__ import annotations

import contextlib

import pytest

from conformance.records.result import TestResult
from conformance.records.verdicts import Verdict
from conformance.requirements.registry import Area, Registry, Requirement
from conformance.selfcheck.outcomes import Observed, Outcome, Row, judge_fault, judge_variant
from conformance.selfcheck.table import Table, as_markdown, as_text, verdict
from reference_impl.faults.fault import Fault
from reference_impl.variants import Variant

MUST = Requirement("area.stated", "area", "must", "What a document says.", ("a page",), "1.10")
ADVISED = Requirement("area.elsewhere", "area", "must", "A document of CUDA's.", ("a page",), "1.10", advised=("xpu",))
SHOULD = Requirement("area.advice", "area", "should", "What is safe.", ("a page",), "1.10")
REGISTRY = Registry([Area("area", "An area", (MUST, ADVISED, SHOULD))])


def rejection(*ids: str, expected: str | None = "an expectation") -> TestResult:
    """A failure of a test that decides these requirements."""
    return TestResult(f"test of {ids}", ids, Verdict.FAIL, message="seen", expected=expected, seen="something else")


def row(*results: TestResult, implementation: str = "reference", dialect: str = "cuda") -> Row:
    """What a fault that names all requirements comes to."""
    named = tuple(REGISTRY.requirements)
    fault = Fault("a-fault", "class", "Something is wrong.", named, implementation, contextlib.nullcontext)
    return judge_fault(fault, dialect, named, Observed(results), REGISTRY)  # type: ignore[arg-type]


def table_of(*rows: Row) -> Table:
    """A table of these rows."""
    return Table(rows, {}, narrowed=False, kit_version="1", suite_digest="0", started_at="", duration_s=1, processes=1)


@pytest.mark.parametrize(
    ("results", "dialect", "level"),
    [
        ([rejection(MUST.id)], "cuda", "must"),
        ([rejection(SHOULD.id)], "cuda", "should"),
        ([rejection(SHOULD.id), rejection(MUST.id)], "cuda", "must"),
        ([rejection(ADVISED.id)], "cuda", "must"),
        ([rejection(ADVISED.id)], "xpu", "should"),
        # A must that rejected it without saying what was expected does not count.
        ([rejection(SHOULD.id), rejection(MUST.id, expected=None)], "cuda", "should"),
    ],
)
def test_a_kill_has_the_level_of_the_strongest(results: list[TestResult], dialect: str, level: str) -> None:
    killed = row(*results, dialect=dialect)
    assert (killed.outcome, killed.level) == (Outcome.KILLED, level)


@pytest.mark.parametrize("results", [[], [rejection(MUST.id, expected=None)]])
def test_what_is_not_killed_has_no_level(results: list[TestResult]) -> None:
    assert row(*results).level is None


def test_the_table_says_how_many_of_each() -> None:
    rows = (row(rejection(MUST.id)), row(rejection(MUST.id)), row(rejection(SHOULD.id)), row())
    table = table_of(*rows)
    words = "2 of 4 faults rejected by a must, 1 by a should alone"
    for text in (verdict(table), as_text(table), as_markdown(table)):
        assert words in text
    assert "| `area.advice` | should |" in as_markdown(table)


def test_a_table_without_levels_is_read() -> None:
    values = row(rejection(MUST.id)).to_dict()
    assert Row.from_dict(values).level == "must"
    del values["level"]
    assert Row.from_dict(values).level is None


def declining(*results: TestResult) -> Row:
    """What a variant that declines the advice comes to."""
    about = "It does something else than is advised."
    variant = Variant("a-variant", about, ("reference",), contextlib.nullcontext, (SHOULD.id,))
    return judge_variant(variant, "reference", Observed(results), REGISTRY, None)


def met(*ids: str) -> TestResult:
    """A passed test that decides these requirements."""
    return TestResult(f"test of {ids}", ids, Verdict.PASS)


def test_a_variant_may_decline_advice() -> None:
    accepted = declining(rejection(SHOULD.id), met(MUST.id))
    assert (accepted.outcome, accepted.message) == (Outcome.ACCEPTED, "declines the advice area.advice")
    assert "| accepted, declines the advice area.advice |" in as_markdown(table_of(accepted))


@pytest.mark.parametrize(
    "results",
    [
        [rejection(SHOULD.id), rejection(MUST.id)],
        [rejection(SHOULD.id, MUST.id)],
        [rejection(SHOULD.id), rejection(ADVISED.id)],
    ],
)
def test_it_declines_nothing_else(results: list[TestResult]) -> None:
    assert declining(*results).outcome is Outcome.FALSE_ALARM


def test_what_it_declines_has_to_notice() -> None:
    assert declining(met(SHOULD.id)).outcome is Outcome.BROKEN
    # Where its tests did not run, there is nothing to be said.
    assert declining(met(MUST.id)).outcome is Outcome.ACCEPTED
