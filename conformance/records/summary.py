"""The terminal summary: counts by verdict, then failures first by requirement, then one line."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tabulate import tabulate

from conformance.errors import one_line
from conformance.records.assessment import Assessment
from conformance.records.claim import Claim
from conformance.records.result import TestResult
from conformance.records.verdicts import Verdict
from conformance.requirements.registry import Requirement

_REASON_WIDTH = 90
_SHOWN = 40
#: Gravest first.
_LEVELS = ("must", "should", "may")


@dataclass(frozen=True)
class RunSummary:
    """What the summary of one run shows.

    Attributes:
        claim: the result of the run, in words.
        assessment: the run, judged.
        results: of its tests.
        requirements: by id.
        left_out: what was left out for dialect or revision, as a sentence; empty when nothing was.
        record: where the record is, if there is one.
    """

    claim: Claim
    assessment: Assessment
    results: Sequence[TestResult]
    requirements: Mapping[str, Requirement]
    left_out: str
    record: Path | None


def render(summary: RunSummary) -> str:
    """The summary as text, without a newline at its end."""
    parts = [_counts(summary.assessment)]
    troubles = _troubles(summary)
    if troubles:
        parts.append(troubles)
    parts += _remarks(summary)
    parts.append(summary.claim.line)
    return "\n\n".join(part for part in parts if part)


def _counts(assessment: Assessment) -> str:
    columns = {
        "tests": assessment.tests,
        "musts": assessment.musts,
        "advice": assessment.advice,
        "long programs": assessment.composites,
    }
    rows = [
        (verdict.value, *(tally.get(verdict, 0) for tally in columns.values()))
        for verdict in Verdict
        if any(verdict in tally for tally in columns.values())
    ]
    return str(tabulate(rows, headers=("verdict", *columns)))


def _troubles(summary: RunSummary) -> str:
    """The requirements with a test that was rejected, waived or in error: errors, then musts, the gravest first."""
    by_requirement: dict[str, list[TestResult]] = {}
    for result in summary.results:
        if result.verdict.is_trouble:
            for identity in result.requirements:
                by_requirement.setdefault(identity, []).append(result)
    rows = []
    for identity, results in by_requirement.items():
        entry = summary.requirements[identity]
        worst = max(results, key=lambda result: result.verdict.severity)
        # What went wrong in the kit or the adapter decides the run, whatever the level.
        order = (worst.verdict is not Verdict.ERROR, _LEVELS.index(entry.level), -worst.verdict.severity, identity)
        rows.append((order, (identity, entry.level, worst.verdict.value, len(results), _reason(worst))))
    rows.sort()
    top_rows = [row for _, row in rows[:_SHOWN]]
    if not top_rows:
        return ""
    headers = ("requirement", "level", "verdict", "tests", "reason")
    table = str(tabulate(top_rows, headers=headers, disable_numparse=True))
    more = len(rows) - len(top_rows)
    if not more:
        return table
    rest = textwrap.fill(", ".join(str(row[0]) for _, row in rows[_SHOWN:]), 110)
    return f"{table}\n… and {more} more requirements:\n{rest}"


def _reason(result: TestResult) -> str:
    return one_line(result.seen or result.message, _REASON_WIDTH)


def _remarks(summary: RunSummary) -> list[str]:
    lines = [summary.left_out] if summary.left_out else []
    lines += _scripts(summary.results)
    if summary.record is not None:
        lines.append(f"record: {summary.record}")
    return ["\n".join(lines)] if lines else []


def _scripts(results: Sequence[TestResult]) -> list[str]:
    """How many of the scripts that were run alone show their failure."""
    outcomes = [result.reproduction["outcome"] for result in results if result.reproduction is not None]
    untried = sum(result.reproducer is not None and result.reproduction is None for result in results)
    if not outcomes:
        return []
    text = f"scripts run alone: {outcomes.count('shown')} of {len(outcomes)} show their failure"
    rest = {
        "pass, so that the failure needs what went before it": outcomes.count("passed"),
        "failed of something else and were dropped": outcomes.count("otherwise"),
        "were not run for want of time": untried,
    }
    return ["; ".join([text, *(f"{count} {what}" for what, count in rest.items() if count)])]
