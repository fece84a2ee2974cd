"""The terminal summary: counts by verdict, then failures first by requirement, then one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tabulate import tabulate

from conformance.errors import one_line
from conformance.records.record import Record, TestResult
from conformance.records.verdicts import Assessment, RunVerdict, Verdict
from conformance.requirements.registry import Requirement

_REASON_WIDTH = 90
_SHOWN = 40


@dataclass(frozen=True)
class RunSummary:
    """What the summary of one run shows.

    Attributes:
        implementation: its name.
        dialect: of the implementation.
        revision: the release that it claims.
        assessment: the run, judged.
        results: of its tests.
        requirements: by id.
        not_applicable: how many tests were left out for dialect or revision.
        record: where the record is, if there is one.
    """

    implementation: str
    dialect: str
    revision: str
    assessment: Assessment
    results: Sequence[TestResult]
    requirements: Mapping[str, Requirement]
    not_applicable: int
    record: Path | None

    @classmethod
    def of(cls, record: Record) -> RunSummary:
        """The summary of a run that was recorded."""
        return cls(
            implementation=record.header.implementation,
            dialect=record.header.dialect,
            revision=record.header.revision,
            assessment=record.assessment,
            results=record.results,
            requirements={entry.id: entry for entry in record.header.requirements},
            not_applicable=len(record.not_applicable),
            record=record.path,
        )


def render(summary: RunSummary) -> str:
    """The summary as text, without a newline at its end."""
    parts = [_counts(summary.assessment)]
    troubles = _troubles(summary)
    if troubles:
        parts.append(troubles)
    parts += _remarks(summary)
    parts.append(verdict_line(summary))
    return "\n\n".join(part for part in parts if part)


def verdict_line(summary: RunSummary) -> str:
    """One sentence that says what the run comes to."""
    assessment = summary.assessment
    met = sum(assessment.scored.get(verdict, 0) for verdict in (Verdict.PASS, Verdict.WAIVED))
    absent = assessment.scored.get(Verdict.UNSUPPORTED, 0)
    owed = sum(assessment.scored.values()) - absent
    why = {
        RunVerdict.PASS: "",
        RunVerdict.PARTIAL: "; only a part of the suites was selected, so no claim can rest on this run",
        RunVerdict.INCOMPLETE: "; tests were skipped or not run",
        RunVerdict.FAIL: "",
        RunVerdict.ERROR: "; the kit or the adapter failed, so nothing can be said",
    }[assessment.verdict]
    behind = f" ({absent} more behind capabilities declared absent)" if absent else ""
    return (
        f"{assessment.verdict.value.upper()}: {summary.implementation} as {summary.dialect} {summary.revision}: "
        f"{met} of {owed} scored requirements met{behind}{why}"
    )


def _counts(assessment: Assessment) -> str:
    rows = [
        (verdict.value, assessment.tests.get(verdict, 0), assessment.scored.get(verdict, 0))
        for verdict in Verdict
        if assessment.tests.get(verdict) or assessment.scored.get(verdict)
    ]
    return str(tabulate(rows, headers=("verdict", "tests", "scored requirements")))


def _troubles(summary: RunSummary) -> str:
    """The requirements with a test that was rejected or in error: the judged ones first, the gravest first."""
    by_requirement: dict[str, list[TestResult]] = {}
    for result in summary.results:
        if result.verdict.rejects or result.verdict is Verdict.ERROR:
            for identity in result.requirements:
                by_requirement.setdefault(identity, []).append(result)
    rows = []
    for identity, results in by_requirement.items():
        entry = summary.requirements[identity]
        worst = max(results, key=lambda result: result.verdict.severity)
        order = (entry.level == "may", -worst.verdict.severity, entry.level != "must", identity)
        rows.append((order, (identity, entry.level, worst.verdict.value, len(results), _reason(worst))))
    rows.sort()
    shown = [row for _, row in rows[:_SHOWN]]
    if not shown:
        return ""
    headers = ("requirement", "level", "verdict", "tests", "reason")
    table = str(tabulate(shown, headers=headers, disable_numparse=True))
    more = len(rows) - len(shown)
    return f"{table}\n… and {more} more requirements" if more else table


def _reason(result: TestResult) -> str:
    return one_line(result.seen or result.message, _REASON_WIDTH)


def _remarks(summary: RunSummary) -> list[str]:
    lines = []
    if summary.not_applicable:
        lines.append(
            f"{summary.not_applicable} tests do not apply to the dialect {summary.dialect} and the revision "
            f"{summary.revision}"
        )
    if summary.record is not None:
        lines.append(f"record: {summary.record}")
    return ["\n".join(lines)] if lines else []
