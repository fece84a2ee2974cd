"""A page for each record: what was run, what may be claimed, what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from conformance.records.assessment import Standing
from conformance.records.verdicts import RunVerdict
from conformance.requirements.profiles import CORE, PROFILES, profile_of
from reports.formats.runs import RecordedRun
from reports.model import Absence, Column, Finding, Observation, Report
from reports.site.map import Map
from reports.words import PROFILE_STANDINGS


@dataclass(frozen=True)
class ProfileLine:
    """What a run says of one profile.

    Attributes:
        name, meaning: of the profile.
        standing: what is said, in words.
        findings: what of it is not met, the musts first.
    """

    name: str
    meaning: str
    standing: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class RecordPage:
    """The page.

    Attributes:
        claimable: see the function of that name.
    """

    column: Column
    name: str
    claim_line: str
    claimable: tuple[str, ...]
    remarks: tuple[str, ...]
    profiles: tuple[ProfileLine, ...]
    findings: tuple[Finding, ...]
    observations: tuple[Observation, ...]
    unsupported: tuple[Absence, ...]
    not_applicable: tuple[Absence, ...]
    places: Map


def record_pages(report: Report, runs: Sequence[RecordedRun], places: Map) -> Iterator[tuple[str, RecordPage]]:
    """Each page, and where it stands."""
    for run in runs:
        column = run.column
        findings = tuple(one for one in report.findings if one.column is column)
        page = RecordPage(
            column=column,
            name=run.name,
            claim_line=run.record.claim.line,
            claimable=claimable(run),
            remarks=run.record.remarks,
            profiles=tuple(_profiles(run, findings)),
            findings=findings,
            observations=tuple(one for one in report.observations if one.column is column),
            unsupported=tuple(one for one in report.unsupported if one.column is column),
            not_applicable=tuple(one for one in report.not_applicable if one.column is column),
            places=places,
        )
        yield places.record(column), page


def claimable(run: RecordedRun) -> tuple[str, ...]:
    """The profiles that a run of a class that does not conform as a whole could claim, had it asked for them alone."""
    assessment = run.record.assessment
    met = assessment.profiles_that_are(Standing.MET)
    is_rejected = run.column.claim.verdict is RunVerdict.DOES_NOT_CONFORM and not assessment.target.profiles
    # The core is part of whatever is asked for.
    return met if is_rejected and CORE in met else ()


def _profiles(run: RecordedRun, findings: Sequence[Finding]) -> Iterator[ProfileLine]:
    standings = run.record.assessment.profiles
    for name in filter(standings.__contains__, PROFILES):
        of_it = tuple(one for one in findings if is_of_profile(one, name))
        yield ProfileLine(name, PROFILES[name].meaning, PROFILE_STANDINGS[standings[name]], of_it)


def is_of_profile(finding: Finding, name: str) -> bool:
    """Whether a must or a piece of advice that is not met is part of the profile of that `name`."""
    entry = finding.requirement
    return entry is not None and entry.scored and not entry.composite and profile_of(entry) == name
