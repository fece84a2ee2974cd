"""The failures: all of them by their causes, and a page for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from conformance.records.result import TestResult
from reports.formats.runs import RecordedRun
from reports.model import Causes, Column, Finding, Report, evidence
from reports.site.map import Map
from reports.words import trial


@dataclass(frozen=True)
class Unmet:
    """What one record does not meet."""

    column: Column
    path: str
    causes: Causes | None
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class Failures:
    """The page of all failures."""

    unmet: tuple[Unmet, ...]
    none_of: tuple[Column, ...]
    places: Map


def failures(report: Report, runs: Sequence[RecordedRun], places: Map) -> Failures:
    """The page of all failures."""
    causes = {one.column.anchor: one for one in report.causes}
    findings: dict[str, list[Finding]] = {run.column.anchor: [] for run in runs}
    for one in report.findings:
        findings[one.column.anchor].append(one)
    unmet = [
        Unmet(run.column, places.record(run.column), causes.get(anchor), tuple(findings[anchor]))
        for run in runs
        for anchor in [run.column.anchor]
    ]
    return Failures(
        unmet=tuple(one for one in unmet if one.findings or one.causes),
        none_of=tuple(one.column for one in unmet if not one.findings and not one.causes),
        places=places,
    )


@dataclass(frozen=True)
class Shown:
    """One test that went wrong.

    Attributes:
        lead: what to call what it expected.
        evidence: what its process left to read, as headings and texts.
        trial: what running its script alone came to, or ``None``.
        script: without the kit, or ``None``.
        is_alike: whether its script is left out, since enough of its cause are shown.
    """

    result: TestResult
    lead: str
    evidence: tuple[tuple[str, str], ...]
    trial: str | None
    script: str | None
    is_alike: bool


@dataclass(frozen=True)
class FailurePage:
    """The page of one failure.

    Attributes:
        record: the path of its record's page.
        requirement: the path of its requirement's page, or ``None``.
        tests: those that went wrong, the first of them.
    """

    finding: Finding
    record: str
    requirement: str | None
    tests: tuple[Shown, ...]


def failure_pages(report: Report, places: Map) -> Iterator[tuple[str, FailurePage]]:
    """Each page, and where it stands."""
    for finding in report.findings:
        entry = finding.requirement
        lead = "promised" if entry is not None and entry.level == "must" else "expected"
        page = FailurePage(
            finding=finding,
            record=places.record(finding.column),
            requirement=None if entry is None else places.requirement(entry.id),
            tests=tuple(_shown(result, finding, lead) for result in finding.tests),
        )
        yield places.failure(finding), page


def _shown(result: TestResult, finding: Finding, lead: str) -> Shown:
    is_alike = result.test in finding.alike
    return Shown(
        result=result,
        lead=lead,
        evidence=evidence(result),
        trial=trial(result),
        script=None if is_alike else result.reproducer,
        is_alike=is_alike,
    )
