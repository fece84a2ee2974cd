"""Pairs of records side by side, as ``graph-conformance compare`` says it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from conformance.comparing.changes import Change
from conformance.comparing.comparison import Comparison, compare
from conformance.comparing.found import Found, RequirementChange, TestChange
from conformance.comparing.text import TITLES, outcome_of
from conformance.errors import ExitStatus
from reports.formats.runs import RecordedRun
from reports.site.map import Map
from reports.site.series import Series

_STYLES = {ExitStatus.CONFORMING: "holds", ExitStatus.NOT_CONFORMING: "fails"}


@dataclass(frozen=True)
class Pair:
    """Two records of one implementation, compared.

    Attributes:
        path: of its page.
    """

    old: RecordedRun
    new: RecordedRun
    path: str
    comparison: Comparison

    @property
    def title(self) -> str:
        return f"{self.old.column.label} → {self.new.column.label}"

    @property
    def outcome(self) -> str:
        return outcome_of(self.comparison)


@dataclass(frozen=True)
class Section:
    """What became alike of requirements and of tests."""

    title: str
    key: str
    requirements: Found[RequirementChange]
    tests: Found[TestChange]


@dataclass(frozen=True)
class ComparisonPage:
    """The page of one pair.

    Attributes:
        runs: both, with the words for them and the paths of their pages.
        counts: the title, the number of requirements and that of tests, of each change that there is.
        sections: what changed.
        style: of the box that says so.
    """

    outcome: str
    notes: tuple[str, ...]
    runs: tuple[tuple[str, RecordedRun, str], ...]
    counts: tuple[tuple[str, int, int], ...]
    sections: tuple[Section, ...]
    style: str
    places: Map


def pairs_of(series: Iterable[Series], places: Map) -> tuple[Pair, ...]:
    """All pairs that are compared.

    Raises:
        RecordError: a record was changed since it was read.
    """
    return tuple(
        Pair(old, new, places.comparison(old.column, new.column), compare(old.record.path, new.record.path))
        for one in series
        for old, new in one.pairs
    )


def comparison_page(pair: Pair, places: Map) -> ComparisonPage:
    """The page of one pair."""
    comparison = pair.comparison
    return ComparisonPage(
        outcome=pair.outcome,
        notes=comparison.notes,
        runs=(("old", pair.old, places.record(pair.old.column)), ("new", pair.new, places.record(pair.new.column))),
        counts=tuple(_counts(comparison)),
        sections=tuple(
            Section(
                title, change.value, comparison.requirements.get(change, Found()), comparison.tests.get(change, Found())
            )
            for change, title in TITLES.items()
            if change in comparison.requirements or change in comparison.tests
        ),
        style=_STYLES.get(comparison.exit_status, "incomplete"),
        places=places,
    )


def _counts(comparison: Comparison) -> Sequence[tuple[str, int, int]]:
    titles: Mapping[Change, str] = {**TITLES, Change.SAME: "no change"}
    rows = [
        (title, _count(comparison.requirements, change), _count(comparison.tests, change))
        for change, title in titles.items()
    ]
    return [row for row in rows if row[1] or row[2] or row[0] == TITLES[Change.REGRESSED]]


def _count(
    changes: Mapping[Change, Found[RequirementChange]] | Mapping[Change, Found[TestChange]], change: Change
) -> int:
    found = changes.get(change)
    return 0 if found is None else found.count


@dataclass(frozen=True)
class Comparisons:
    """The page of all pairs."""

    pairs: tuple[Pair, ...]
