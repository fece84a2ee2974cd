"""A page for each requirement: what it demands, where that is documented, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from conformance.requirements.loading import load_documents
from conformance.text import visible
from reports.formats.runs import RecordedRun
from reports.model import Report, Row
from reports.site.history import Histories, History
from reports.site.map import Map
from reports.site.series import Series
from reports.words import WORDS, Word

if TYPE_CHECKING:
    from conformance.requirements.registry import Requirement

#: Tests that are named.
_TESTS = 50


@dataclass(frozen=True)
class Said:
    """A statement of a document; of one that the kit does not have, its id only."""

    id: str
    document: str = ""
    text: str = ""


@dataclass(frozen=True)
class Standing:
    """What one record says of the requirement.

    Attributes:
        label: of the record, escaped: it stands on the page of each requirement.
        path: of the record's page.
        level: for the record's dialect, where it is not the page's; otherwise empty.
        note: why it has its verdict, in a few words, or empty.
        failure: the path of the page about it, or ``None``.
    """

    label: Markup
    path: str
    level: str
    note: str
    failure: str | None


@dataclass(frozen=True)
class Group:
    """The records with one verdict."""

    word: Word
    standings: tuple[Standing, ...]


@dataclass
class Tests:
    """The tests that decide a requirement: the first names, and how many more results there are."""

    names: dict[str, None] = field(default_factory=dict)
    more: int = 0


@dataclass(frozen=True)
class RequirementPage:
    """The page.

    Attributes:
        facts: for whom and since when it holds.
        said: the statements that it decides.
        groups: the records by their verdicts, the worst first.
        histories: of the implementations with several records.
        tests: the names of the tests that decide it, the first of them.
        more_tests: how many there are beside these.
    """

    requirement: Requirement
    facts: tuple[tuple[str, str], ...]
    said: tuple[Said, ...]
    groups: tuple[Group, ...]
    histories: tuple[History, ...]
    tests: tuple[str, ...]
    more_tests: int


class RequirementPages:
    """Makes the pages of one report."""

    def __init__(self, report: Report, runs: Sequence[RecordedRun], series: Sequence[Series], places: Map) -> None:
        self._report = report
        self._runs = runs
        self._places = places
        self._labels = [escape(visible(run.column.label)) for run in runs]
        self._paths = [places.record(run.column) for run in runs]
        self._histories = Histories(series, runs, places)
        self._statements = _statements()

    def make(self) -> Iterator[RequirementPage]:
        """Each page."""
        for area in self._report.areas:
            for row in area.rows:
                yield self._page(row)

    def _page(self, row: Row) -> RequirementPage:
        tests = _tests(row.requirement.id, self._runs)
        return RequirementPage(
            requirement=row.requirement,
            facts=tuple(_facts(row.requirement)),
            said=tuple(self._statements.get(each, Said(each)) for each in row.requirement.statements),
            groups=tuple(self._groups(row)),
            histories=self._histories.of(row),
            tests=tuple(tests.names),
            more_tests=tests.more,
        )

    def _groups(self, row: Row) -> Iterator[Group]:
        by_word: dict[Word, list[Standing]] = {}
        for run, label, path, cell in zip(self._runs, self._labels, self._paths, row.cells, strict=True):
            level = run.record.assessment.levels.get(row.requirement.id, row.requirement.level)
            standing = Standing(
                label,
                path,
                level="" if level == row.requirement.level else level,
                note=cell.note,
                failure=None if cell.finding is None else self._places.failure(cell.finding),
            )
            by_word.setdefault(cell.word, []).append(standing)
        return (Group(word, tuple(by_word[word])) for word in WORDS if word in by_word)


def _facts(entry: Requirement) -> Iterator[tuple[str, str]]:
    yield "since", f"PyTorch {entry.since}"
    if entry.until is not None:
        yield "until", f"PyTorch {entry.until}, which no longer asks it"
    yield "holds for", ", ".join(entry.dialects)
    if entry.advised:
        yield "advice only for", ", ".join(entry.advised)
    if entry.capabilities:
        yield "needs", ", ".join(entry.capabilities)
    if entry.probes:
        yield "probes the declaration of", entry.probes
    if entry.composite:
        yield "counted", "with the long programs, which ask again what others ask"
    if entry.untestable is not None:
        yield "no test can decide it", entry.untestable


def _tests(identity: str, runs: Sequence[RecordedRun]) -> Tests:
    tests = Tests()
    for run in runs:
        notes = run.record.notes
        for excerpt in (notes.troubles(identity), notes.others(identity)):
            tests.names.update((one.test, None) for one in excerpt.items if len(tests.names) < _TESTS)
            tests.more = max(tests.more, len(excerpt.items) + excerpt.more - len(tests.names))
    return tests


def _statements() -> Mapping[str, Said]:
    return {
        statement.id: Said(statement.id, document.title, statement.text)
        for document in load_documents().values()
        for statement in document.statements
    }
