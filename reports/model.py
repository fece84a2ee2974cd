"""What a report shows, computed once from the records, so that every page says the same.

Nothing is judged or counted here: that is what a record's `assessment` and `claim` are for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.records.assessment import Tally
from conformance.records.causes import Cause, key_of, number
from conformance.records.claim import Claim
from conformance.records.notes import Other
from conformance.records.record import Record
from conformance.records.result import TestResult
from conformance.records.verdicts import Verdict
from conformance.requirements.revisions import Revision
from reports.detection import Detection, detection
from reports.words import (
    NOT_APPLICABLE,
    PROFILE_STANDINGS,
    RECORDED,
    STANDINGS,
    UNKNOWN,
    UNTESTABLE,
    VERDICTS,
    WORDS,
    Standing,
    Word,
    seconds,
)

if TYPE_CHECKING:
    from conformance.requirements.registry import Requirement
    from conformance.selfcheck.table import Table

Pairs = tuple[tuple[str, str], ...]
Counts = tuple[tuple[Word, int], ...]

#: Causes that are shown of one run, and requirements of one cause.
_CAUSES = 50
_PLACES = 20
#: Tests of one cause that are shown with their scripts: most of a page would be scripts that are alike.
_SCRIPTS = 10


@dataclass(frozen=True)
class Column:
    """One record: an implementation and its run.

    Attributes:
        label: the implementation's name, made unique among the columns.
        anchor: an HTML id for it.
        claim: what may be said after its run.
        standing: how that looks.
        facts: what was run on what, as names and values.
        capabilities: each declared or asked-for capability and what is declared of it.
        counts: how many musts, pieces of advice, long programs and tests have each verdict, each under its heading.
        profiles: what is said of each profile.
    """

    label: str
    anchor: str
    claim: Claim
    standing: Standing
    facts: Pairs
    capabilities: Pairs
    environment: Pairs
    counts: tuple[tuple[str, Counts], ...]
    profiles: Pairs


@dataclass(frozen=True)
class Finding:
    """One requirement that one implementation does not meet, or a test that went wrong outside of all requirements.

    Attributes:
        tests: those that went wrong, the first of them.
        others: the first of those that did not.
        more, more_others: how many there are beside these.
        alike: the names of those whose scripts are left out, since enough of their cause are shown.
    """

    anchor: str
    column: Column
    word: Word
    requirement: Requirement | None
    tests: tuple[TestResult, ...]
    others: tuple[Other, ...]
    more: int = 0
    more_others: int = 0
    alike: frozenset[str] = frozenset()

    @property
    def title(self) -> str:
        if self.requirement is not None:
            return self.requirement.id
        return self.tests[0].test if self.tests else "tests outside the requirements"


@dataclass(frozen=True)
class CauseRow:
    """Tests of one run that went wrong for one reason.

    Attributes:
        cause: see there.
        places: the first requirements that they decide, and where to read more of each.
        more: how many there are beside these.
    """

    cause: Cause
    places: tuple[tuple[str, Finding | None], ...]
    more: int


@dataclass(frozen=True)
class Causes:
    """Why tests of one run went wrong, the largest cause first.

    Attributes:
        rows: the first of them.
        more: how many tests the others have, in words; empty when there are none.
        tests: how many went wrong in all.
        noted: how many more failed at what is left open, in words; empty when none did.
    """

    column: Column
    rows: tuple[CauseRow, ...]
    more: str
    tests: str
    noted: str


@dataclass(frozen=True)
class Cell:
    """A requirement's verdict on one implementation, why in a few words, and where to read more."""

    column: Column
    word: Word
    note: str = ""
    finding: Finding | None = None


@dataclass(frozen=True)
class Row:
    """A requirement and its verdicts."""

    anchor: str
    requirement: Requirement
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class AreaRows:
    """The rows of one area."""

    name: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Observation:
    """What one test noted of a thing that the documents leave open."""

    column: Column
    title: str
    text: str
    test: str
    values: Pairs
    note: str


@dataclass(frozen=True)
class Absence:
    """A requirement that an implementation is not held to, and why."""

    column: Column
    requirement: Requirement
    reason: str


@dataclass(frozen=True)
class Report:
    """Everything that is shown."""

    title: str
    notices: tuple[str, ...]
    columns: tuple[Column, ...]
    causes: tuple[Causes, ...]
    findings: tuple[Finding, ...]
    areas: tuple[AreaRows, ...]
    observations: tuple[Observation, ...]
    unsupported: tuple[Absence, ...]
    not_applicable: tuple[Absence, ...]
    detection: Detection | None

    @property
    def words(self) -> tuple[Word, ...]:
        """The words that occur in the table, worst first."""
        present = {cell.word for area in self.areas for row in area.rows for cell in row.cells}
        return tuple(word for word in WORDS if word in present)


def build(records: Sequence[Record], table: Table | None = None) -> Report:
    """Make the report of one or more records, and of a self-check of the suites that they come from."""
    anchors = _Anchors()
    labels = _labels(records)
    columns = tuple(_column(record, label, anchors) for record, label in zip(records, labels, strict=True))
    runs = tuple(zip(columns, records, strict=True))
    several = len(runs) > 1
    findings = tuple(one for column, record in runs for one in _findings(column, record, anchors, several=several))
    return Report(
        title="Graph capture conformance: " + (f"{len(runs)} implementations" if several else labels[0]),
        notices=_notices(runs),
        columns=columns,
        causes=tuple(filter(None, (_causes(column, record, findings) for column, record in runs))),
        findings=findings,
        areas=_areas(runs, findings, anchors),
        observations=tuple(one for column, record in runs for one in _observations(column, record)),
        unsupported=tuple(one for column, record in runs for one in _unsupported(column, record)),
        not_applicable=tuple(
            Absence(column, entry, _why_not_applicable(entry, record))
            for column, record in runs
            for entry in record.header.requirements
            if entry.id in record.assessment.not_applicable
        ),
        detection=None
        if table is None
        else detection(table, [(label, record.header) for label, record in zip(labels, records, strict=True)]),
    )


class _Anchors:
    """HTML ids: readable, valid whatever a record contains, and each given once."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def make(self, *parts: str) -> str:
        stem = anchor = re.sub(r"[^A-Za-z0-9._]+", "-", "-".join(parts)).strip("-")
        number = 1
        while anchor in self._taken:
            number += 1
            anchor = f"{stem}-{number}"
        self._taken.add(anchor)
        return anchor


def _labels(records: Sequence[Record]) -> list[str]:
    """The shortest names that tell the columns apart."""
    headers = [record.header for record in records]
    attempts = (
        [header.implementation for header in headers],
        [f"{header.implementation} {header.revision}" for header in headers],
        [f"{header.implementation} {header.revision} ({header.dialect})" for header in headers],
        [f"{record.header.implementation} ({record.path.stem})" for record in records],
        [f"{header.implementation} ({header.started_at[:10]})" for header in headers],
        [f"{header.implementation} ({header.started_at})" for header in headers],
    )
    for labels in attempts:
        if len(set(labels)) == len(labels):
            return labels
    return [f"{header.implementation} #{number}" for number, header in enumerate(headers, 1)]


# -- one run ----------------------------------------------------------------------------------------------------------


def _column(record: Record, label: str, anchors: _Anchors) -> Column:
    header = record.header
    needed_capabilities = [name for entry in header.requirements for name in entry.capabilities]
    options = [f"{name}={_plain(value)}" for name, value in header.options.items() if value not in (None, False, "")]
    duration = seconds(record.footer.duration_s) if record.footer is not None else "unknown: the run was cut short"
    facts = [
        ("implementation", header.implementation),
        ("dialect", header.dialect),
        ("revision", f"PyTorch {header.revision}"),
        ("started", header.started_at),
        ("duration", duration),
        ("options", " ".join(options) or "none"),
        ("kit", header.kit_version),
        ("suite digest", header.suite_digest),
        ("record", record.path.name),
    ]
    return Column(
        label=label,
        anchor=anchors.make("run", label),
        claim=record.claim,
        standing=STANDINGS[record.claim.verdict],
        facts=tuple(facts),
        capabilities=tuple(
            (name, ("yes" if header.capabilities[name] else "no") if name in header.capabilities else "unstated")
            for name in dict.fromkeys([*header.capabilities, *needed_capabilities])
        ),
        environment=tuple((name, str(value)) for name, value in header.environment.items()),
        counts=tuple(
            (heading, _counts(tally))
            for heading, tally in (
                ("Musts", record.assessment.musts),
                ("Advice", record.assessment.advice),
                ("Long programs", record.assessment.composites),
                ("Tests", record.assessment.tests),
            )
            if tally or heading in {"Musts", "Tests"}
        ),
        profiles=tuple((name, PROFILE_STANDINGS[each]) for name, each in record.assessment.profiles.items()),
    )


def _counts(tally: Tally) -> Counts:
    return tuple((word, tally[verdict]) for verdict, word in VERDICTS.items() if verdict in tally)


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _notices(runs: Sequence[tuple[Column, Record]]) -> tuple[str, ...]:
    notices = []
    if len({record.header.suite_digest for _, record in runs}) > 1:
        notices.append("The records come from different suites: a requirement may not have been tested alike in each.")
    by_chain: dict[str, list[str]] = {}
    for column, record in runs:
        by_chain.setdefault(record.chain.digest or column.label, []).append(column.label)
    notices += [f"{' and '.join(labels)} are the same record." for labels in by_chain.values() if len(labels) > 1]
    for column, record in runs:
        footer = record.footer
        if footer is not None and dict(footer.counts) != {str(key): n for key, n in record.assessment.tests.items()}:
            notices.append(f"{column.label}: the counts that the record ends with are not those of its results.")
        notices += [f"{column.label}: {remark}." for remark in record.remarks]
    return tuple(notices)


# -- what went wrong --------------------------------------------------------------------------------------------------


def _judged_wrong(requirement: Requirement, verdict: Verdict) -> bool:
    # What the documents leave open cannot fail; a crash or a hang is wrong whatever they leave open.
    return verdict.is_trouble and (requirement.scored or verdict is not Verdict.FAIL)


def _findings(column: Column, record: Record, anchors: _Anchors, *, several: bool) -> list[Finding]:
    prefix = ("failure", column.label) if several else ("failure",)
    verdicts = record.assessment.requirements
    entries = [entry for entry in record.header.requirements if entry.id in verdicts]
    unmet = [entry for entry in entries if _judged_wrong(entry, verdicts[entry.id])]
    # What is documented comes before advice; the kit's own errors say the least of the implementation.
    unmet.sort(key=lambda entry: (verdicts[entry.id] is Verdict.ERROR, entry.level != "must"))
    findings = []
    scripts = _Scripts()
    for entry in unmet:
        troubles, others = record.notes.troubles(entry.id), record.notes.others(entry.id)
        findings.append(
            Finding(
                anchor=anchors.make(*prefix, entry.id),
                column=column,
                word=VERDICTS[verdicts[entry.id]],
                requirement=entry,
                tests=tuple(troubles.items),
                others=tuple(others.items),
                more=troubles.more,
                more_others=others.more,
                alike=scripts.alike(troubles.items),
            )
        )
    strays = record.notes.troubles(None)
    for result in strays.items:
        anchor = anchors.make(*prefix, result.test)
        findings.append(Finding(anchor, column, VERDICTS[result.verdict], None, (result,), ()))
    if strays.more:
        anchor = anchors.make(*prefix, "more")
        findings.append(Finding(anchor, column, VERDICTS[Verdict.FAIL], None, (), (), more=strays.more))
    return findings


class _Scripts:
    """Chooses the tests of one run that are shown with their scripts: the first of each cause."""

    def __init__(self) -> None:
        self._shown: dict[tuple[str, ...], set[str]] = {}

    def alike(self, results: Iterable[TestResult]) -> frozenset[str]:
        """The names of the tests whose scripts are not."""
        return frozenset(result.test for result in results if result.reproducer and not self._is_chosen(result))

    def _is_chosen(self, result: TestResult) -> bool:
        key = key_of(result)
        if key is None:
            return True
        shown = self._shown.setdefault(key, set())
        if len(shown) < _SCRIPTS:
            shown.add(result.test)
        return result.test in shown


def _causes(column: Column, record: Record, findings: Sequence[Finding]) -> Causes | None:
    ranked = record.causes.ranked()
    if not ranked:
        return None
    by_id = {one.requirement.id: one for one in findings if one.column is column and one.requirement is not None}
    rest = ranked[_CAUSES:]
    return Causes(
        column=column,
        rows=tuple(
            CauseRow(
                cause,
                places=tuple((identity, by_id.get(identity)) for identity in cause.requirements[:_PLACES]),
                more=max(len(cause.requirements) - _PLACES, 0),
            )
            for cause in ranked[:_CAUSES]
        ),
        more=f"{number(sum(cause.tests for cause in rest), 'test')} of {number(len(rest), 'smaller cause')}"
        if rest
        else "",
        tests=number(sum(cause.tests for cause in ranked), "test"),
        noted=f"{record.causes.noted:,} more failed at what the documents leave open, which is recorded and not judged"
        if record.causes.noted
        else "",
    )


def evidence(result: TestResult) -> Pairs:
    """What a failure left to read, as headings and texts."""
    ending = result.ending or {}
    texts = {
        "Last calls of the implementation": "\n".join(result.calls),
        "Stacks": str(ending.get("stacks") or ""),
        "Last output": str(ending.get("output") or ""),
    }
    return tuple((heading, text) for heading, text in texts.items() if text)


# -- every requirement ------------------------------------------------------------------------------------------------


def _areas(
    runs: Sequence[tuple[Column, Record]], findings: Sequence[Finding], anchors: _Anchors
) -> tuple[AreaRows, ...]:
    entries: dict[str, Requirement] = {}
    for _, record in runs:
        for entry in record.header.requirements:
            entries.setdefault(entry.id, entry)
    by_place = {(one.column.anchor, one.requirement.id): one for one in findings if one.requirement is not None}
    areas: dict[str, list[Row]] = {}
    for entry in entries.values():
        cells = tuple(_cell(entry, column, record, by_place.get((column.anchor, entry.id))) for column, record in runs)
        areas.setdefault(entry.area, []).append(Row(anchors.make("requirement", entry.id), entry, cells))
    return tuple(AreaRows(name, tuple(rows)) for name, rows in areas.items())


def _cell(entry: Requirement, column: Column, record: Record, finding: Finding | None) -> Cell:
    assessment = record.assessment
    verdict = assessment.requirements.get(entry.id)
    if verdict is None:
        if entry.id in assessment.not_applicable:
            return Cell(column, NOT_APPLICABLE)
        if entry.id in assessment.untestable:
            return Cell(column, UNTESTABLE, entry.untestable or "")
        return Cell(column, UNKNOWN)
    if entry.level == "may" and verdict in (Verdict.PASS, Verdict.FAIL):
        return Cell(column, RECORDED)
    note = _reason(entry, record, verdict) if verdict is Verdict.SKIPPED else ""
    return Cell(column, VERDICTS[verdict], note, finding)


def _reason(entry: Requirement, record: Record, verdict: Verdict) -> str:
    """What the tests of `entry` with that verdict say, each message once."""
    reasons = record.notes.reasons(entry.id, verdict)
    return "; ".join([*reasons.items, f"and {reasons.more:,} more"] if reasons.more else reasons.items)


# -- what is not judged -----------------------------------------------------------------------------------------------


def _observations(column: Column, record: Record) -> Iterable[Observation]:
    left_open = {entry.id: entry for entry in record.header.requirements if entry.level == "may"}
    for about, noted in record.notes.observations.items():
        text = left_open[about].text if about in left_open else ""
        for one in noted.items:
            values = tuple((name, _plain(value)) for name, value in one.observations.items())
            yield Observation(column, about or one.test, text, one.test, values, one.note)
        if noted.more:
            yield Observation(column, about, text, "", (), f"and {noted.more:,} more")


def _unsupported(column: Column, record: Record) -> Iterable[Absence]:
    capabilities = record.header.capabilities
    for entry in record.header.requirements:
        if record.assessment.requirements.get(entry.id) is not Verdict.UNSUPPORTED:
            continue
        absent = entry.lacks(capabilities)
        if absent is not None:
            yield Absence(column, entry, f"{absent} is declared absent")
        else:
            yield Absence(column, entry, _reason(entry, record, Verdict.UNSUPPORTED) or "no reason was recorded")


def _why_not_applicable(entry: Requirement, record: Record) -> str:
    if record.header.dialect not in entry.dialects:
        return f"holds for {', '.join(entry.dialects)}, not for {record.header.dialect}"
    if entry.until is not None and Revision(entry.until) <= Revision(record.header.revision):
        return f"documented until {entry.until}, and no longer in the claimed revision {record.header.revision}"
    return f"documented since {entry.since}, after the claimed revision {record.header.revision}"
