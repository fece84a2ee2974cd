"""What became of each implementation over its runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from reports.formats.runs import RecordedRun
from reports.model import Report
from reports.site.map import Map
from reports.site.series import Series
from reports.words import Word

#: Requirements whose verdicts changed that are shown of one implementation.
_CHANGES = 200


@dataclass(frozen=True)
class TrendLine:
    """One run.

    Attributes:
        met, others: how many musts are met, and what became of the others, in words.
    """

    run: RecordedRun
    path: str
    started: str
    revision: str
    kit: str
    musts: tuple[tuple[Word, int], ...]
    is_complete: bool


@dataclass(frozen=True)
class Changed:
    """A requirement whose verdict is not the same in all runs."""

    id: str
    path: str
    words: tuple[Word, ...]


@dataclass(frozen=True)
class Trend:
    """The runs of one implementation.

    Attributes:
        lines: the oldest first.
        changes: requirements whose verdicts differ from run to run, the first of them.
        more: how many there are beside these.
        points: of the musts that are met, for a drawing: a number for each run, or ``None`` where nothing is claimed.
    """

    title: str
    lines: tuple[TrendLine, ...]
    changes: tuple[Changed, ...]
    more: int


@dataclass(frozen=True)
class Trends:
    """The page."""

    trends: tuple[Trend, ...]
    single: tuple[str, ...]


def trends(report: Report, runs: Sequence[RecordedRun], series: Iterable[Series], places: Map) -> Trends:
    """The page."""
    series = tuple(series)
    numbers = {run.name: number for number, run in enumerate(runs)}
    return Trends(
        trends=tuple(_trend(report, one, numbers, places) for one in series if len(one.runs) > 1),
        single=tuple(one.title for one in series if len(one.runs) == 1),
    )


def _trend(report: Report, series: Series, numbers: dict[str, int], places: Map) -> Trend:
    places_of_runs = [numbers[run.name] for run in series.runs]
    changes = [*_changes(report, places_of_runs, places)]
    return Trend(
        title=series.title,
        lines=tuple(_line(run, places) for run in series.runs),
        changes=tuple(changes[:_CHANGES]),
        more=max(len(changes) - _CHANGES, 0),
    )


def _changes(report: Report, numbers: Sequence[int], places: Map) -> Iterator[Changed]:
    for area in report.areas:
        for row in area.rows:
            words = tuple(row.cells[number].word for number in numbers)
            if len(set(words)) > 1:
                yield Changed(row.requirement.id, places.requirement(row.requirement.id), words)


def _line(run: RecordedRun, places: Map) -> TrendLine:
    header = run.record.header
    (musts,) = [counts for heading, counts in run.column.counts if heading == "Musts"]
    return TrendLine(
        run=run,
        path=places.record(run.column),
        started=header.started_at,
        revision=header.revision,
        kit=header.kit_version,
        musts=musts,
        is_complete=run.record.complete,
    )
