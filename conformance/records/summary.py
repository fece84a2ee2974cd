"""The terminal summary: the outcome by verdict and by profile, then causes, then requirements.

Its last line, the claim, is `RunSummary.claim`'s, for whoever has the last word of a session.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tabulate import tabulate

from conformance.errors import ExitStatus, one_line
from conformance.records.assessment import Assessment, Standing
from conformance.records.causes import Cause, number
from conformance.records.claim import Claim
from conformance.records.result import TestResult
from conformance.records.runs import how_often
from conformance.records.verdicts import Verdict
from conformance.requirements.registry import Requirement

#: Characters of each half of a reason: what was expected, and what was seen.
_REASON_WIDTH = 90
_WIDTH = 110
#: Requirements in the table, and causes in front of it.
_SHOWN = 20
_SHOWN_CAUSES = 10
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
        causes: why tests went wrong, the largest first.
        noted: how many failed at nothing but what is left open.
        left_out: what was left out for dialect or revision, as a sentence; empty when nothing was.
        record: where the record is, if there is one.
    """

    claim: Claim
    assessment: Assessment
    results: Sequence[TestResult]
    requirements: Mapping[str, Requirement]
    causes: Sequence[Cause]
    noted: int
    left_out: str
    record: Path | None


def render(summary: RunSummary) -> str:
    """The summary as text, without its last line and without a newline at its end."""
    assessment = summary.assessment
    parts = [_counts(assessment), _profiles(assessment), _causes(summary), _troubles(summary), _remarks(summary)]
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


_STANDINGS = {
    Standing.MET: "conforms in",
    Standing.NOT_MET: "does not conform in",
    Standing.DECLINED: "declined, in part or in whole",
    Standing.UNDECIDED: "undecided",
}


def _profiles(assessment: Assessment) -> str:
    """The outcome by profile; empty when nothing is decided."""
    named = {words: assessment.profiles_that_are(standing) for standing, words in _STANDINGS.items()}
    lines = [f"{words}: {', '.join(names)}" for words, names in named.items() if names]
    decided = len(assessment.profiles_that_are(Standing.UNDECIDED)) < len(assessment.profiles)
    return "\n".join(textwrap.fill(line, _WIDTH, subsequent_indent="    ") for line in lines) if decided else ""


def _causes(summary: RunSummary) -> str:
    """Why tests went wrong, the largest cause first; empty where the requirements say as much."""
    say_more = any(cause.tests > 1 or cause.remedy for cause in summary.causes)
    return "\n".join(_cause_lines(summary.causes, summary.noted)) if say_more else ""


def _cause_lines(causes: Sequence[Cause], noted: int) -> Iterator[str]:
    total = sum(cause.tests for cause in causes)
    yield f"why {number(total, 'test')} went wrong, the largest cause first:"
    for cause in causes[:_SHOWN_CAUSES]:
        yield f"  {cause.size}: {cause.words}"
        if cause.remedy:
            yield f"      {cause.remedy}"
        yield f"      such as {cause.example.test}"
        if cause.example.expected:
            yield f"      expected: {one_line(cause.example.expected, _REASON_WIDTH)}"
    rest = causes[_SHOWN_CAUSES:]
    if rest:
        yield f"  … and {number(sum(cause.tests for cause in rest), 'test')} of {number(len(rest), 'smaller cause')}"
    if noted:
        yield f"  ({noted:,} more failed at what the documents leave open, which is recorded and not judged)"


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
        rows.append((order, (identity, entry.level, worst.verdict.value, len(results), _reason(entry, worst))))
    rows.sort()
    top_rows = [row for _, row in rows[:_SHOWN]]
    if not top_rows:
        return ""
    headers = ("requirement", "level", "verdict", "tests", "reason")
    table = str(tabulate(top_rows, headers=headers, disable_numparse=True))
    more = len(rows) - len(top_rows)
    if not more:
        return table
    areas = Counter(summary.requirements[str(row[0])].area for _, row in rows[_SHOWN:])
    rest = ", ".join(f"{area} {count}" for area, count in areas.items())
    return f"{table}\n{textwrap.fill(f'… and {more} more requirements: {rest}', _WIDTH, break_on_hyphens=False)}"


def _reason(entry: Requirement, result: TestResult) -> str:
    """What was seen, never without what was expected; where the test did not say that, its requirement does."""
    expected, seen = result.expected or entry.text, result.seen or result.message
    times = "" if result.runs is None else how_often(result.runs)
    runs = f"\n{times}" if times not in seen else ""
    return f"expected: {one_line(expected, _REASON_WIDTH)}\nseen: {one_line(seen, _REASON_WIDTH)}{runs}"


def _remarks(summary: RunSummary) -> str:
    lines = [summary.left_out] if summary.left_out else []
    lines += _beyond_waivers(summary.assessment)
    lines += _scripts(summary.results)
    if summary.record is not None:
        lines.append(f"record: {summary.record}")
    return "\n".join(lines)


def _beyond_waivers(assessment: Assessment) -> list[str]:
    """Why a run does not end with 0 although each must that failed is waived: musts that nobody could try."""
    profiles = assessment.target.profiles
    declined = [name for name in assessment.declined if not profiles or name in profiles]
    musts = {assessment.requirements[name] for name, level in assessment.levels.items() if level == "must"}
    if assessment.exit_status is not ExitStatus.NOT_CONFORMING or not declined or Verdict.WAIVED not in musts:
        return []
    if not musts <= {Verdict.PASS, Verdict.WAIVED, Verdict.UNSUPPORTED}:
        return []
    names = ", ".join(declined)
    return [f"waivers cover each failed must, and none that was declined or not tried ({names}): exit status 1"]


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
