"""Pairs of records side by side, as ``graph-conformance compare`` says it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from conformance.comparing.changes import Change
from conformance.comparing.comparison import Comparison, compare
from conformance.comparing.found import Found, RequirementChange, TestChange
from conformance.comparing.text import TITLES, outcome_of
from conformance.errors import ExitStatus
from conformance.records.verdicts import Verdict
from reports.formats.runs import RecordedRun
from reports.model import Column
from reports.site.map import Map
from reports.site.series import Series

_TROUBLES = frozenset(verdict.value for verdict in Verdict if verdict.is_trouble)
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


_Item = TypeVar("_Item", RequirementChange, TestChange)


@dataclass(frozen=True)
class Entries(Generic[_Item]):
    """The requirements, or the tests, that became alike.

    Attributes:
        title: what they are.
        noun: for one of them.
        shown: what a reader should see at once.
        folded: what is right, and only new or gone.
        more: how many there are beside these.
    """

    title: str
    noun: str
    shown: tuple[_Item, ...]
    folded: tuple[_Item, ...]
    more: int

    @property
    def items(self) -> tuple[_Item, ...]:
        return self.shown + self.folded


@dataclass(frozen=True)
class Section:
    """What became alike of requirements and of tests."""

    title: str
    key: str
    requirements: Entries[RequirementChange]
    tests: Entries[TestChange]


@dataclass(frozen=True)
class ComparisonPage:
    """The page of one pair.

    Attributes:
        pair: that is compared.
        outcome, notes: what came of it, and what differs between the runs.
        runs: both, with the words for them and the paths of their pages.
        counts: the title, the number of requirements and that of tests, of each change that there is.
        sections: what changed.
        style: of the box that says so.
    """

    pair: Pair
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
        pair=pair,
        outcome=pair.outcome,
        notes=comparison.notes,
        runs=(("old", pair.old, places.record(pair.old.column)), ("new", pair.new, places.record(pair.new.column))),
        counts=tuple(_counts(comparison)),
        sections=tuple(
            Section(
                title,
                change.value,
                _entries("Requirements", "requirement", change, comparison.requirements.get(change, Found())),
                _entries("Tests", "test", change, comparison.tests.get(change, Found())),
            )
            for change, title in TITLES.items()
            if change in comparison.requirements or change in comparison.tests
        ),
        style=_STYLES.get(comparison.exit_status, "incomplete"),
        places=places,
    )


def _entries(title: str, noun: str, change: Change, found: Found[_Item]) -> Entries[_Item]:
    folded = tuple(one for one in found.items if _is_right(change, one))
    shown = tuple(one for one in found.items if one not in folded)
    return Entries(title, noun, shown, folded, found.count - len(found.items))


def _is_right(change: Change, one: RequirementChange | TestChange) -> bool:
    """Whether `one` is in one record only, where nothing is wrong with it."""
    verdicts = {Change.NEW: one.after, Change.GONE: one.before}
    return change in verdicts and verdicts[change] not in _TROUBLES


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
    """The page of all pairs.

    Attributes:
        refuted: the records that are compared with none, since they cannot be true.
    """

    pairs: tuple[Pair, ...]
    refuted: tuple[Column, ...]
    places: Map
