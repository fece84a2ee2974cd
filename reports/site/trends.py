"""What became of each implementation over its runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from conformance.records.verdicts import RunVerdict, Verdict
from reports.formats.runs import RecordedRun
from reports.model import Counts, Report, Row
from reports.site.history import Histories, Step
from reports.site.map import Map
from reports.site.series import Series
from reports.words import NOT_APPLICABLE, UNKNOWN, WORDS

#: Requirements with changes that are shown of one implementation.
_CHANGES = 200
#: Of the drawing, in its own units.
_WIDTH, _HEIGHT, _MARGIN = 600, 120, 10


@dataclass(frozen=True)
class TrendLine:
    """One run.

    Attributes:
        path: of its record's page.
        started, revision, kit, device: of it.
        musts: what became of them.
    """

    run: RecordedRun
    path: str
    started: str
    revision: str
    kit: str
    device: str
    musts: Counts


@dataclass(frozen=True)
class Point:
    """How many musts are met in one run: a place in the drawing, that of how many were asked, and words for it."""

    x: float
    y: float
    top: float
    text: str


@dataclass(frozen=True)
class Change:
    """A requirement whose verdict is not the same in all runs."""

    id: str
    path: str
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Trend:
    """The runs of one implementation.

    Attributes:
        lines: in the order of the series.
        points: of the runs that decided all musts; the others have no number, and leave a gap.
        paths: the lines between the points, as coordinates.
        asked: likewise, of how many musts were asked in these runs.
        most: the number of musts at the top of the drawing.
        changes: requirements whose verdicts differ from run to run, those that are worst now first.
        more: how many there are beside these.
        asked_of_some: how many requirements are not asked in all runs, and pass wherever they are.
    """

    title: str
    lines: tuple[TrendLine, ...]
    points: tuple[Point, ...]
    paths: tuple[str, ...]
    asked: tuple[str, ...]
    most: int
    changes: tuple[Change, ...]
    more: int
    asked_of_some: int


@dataclass(frozen=True)
class Trends:
    """The page.

    Attributes:
        trends: of the implementations with several records.
        single: the titles of the others.
    """

    trends: tuple[Trend, ...]
    single: tuple[str, ...]


def trends(report: Report, runs: Sequence[RecordedRun], series: Iterable[Series], places: Map) -> Trends:
    """The page."""
    series = tuple(series)
    rows = [row for area in report.areas for row in area.rows]
    return Trends(
        trends=tuple(_trend(rows, runs, one, places) for one in series if len(one.runs) > 1),
        single=tuple(one.title for one in series if len(one.runs) == 1),
    )


def _trend(rows: Sequence[Row], runs: Sequence[RecordedRun], series: Series, places: Map) -> Trend:
    found = list(_changes(rows, Histories((series,), runs, places), places))
    changes = sorted((change for change in found if not _is_of_some_runs(change)), key=_worst_now)
    most = max(sum(run.record.assessment.musts.values()) for run in series.runs)
    points = _points(series.runs, most)
    return Trend(
        title=series.title,
        lines=tuple(_line(run, places) for run in series.runs),
        points=tuple(point for point in points if point is not None),
        paths=tuple(_paths(points, lambda point: point.y)),
        asked=tuple(_paths(points, lambda point: point.top)),
        most=most,
        changes=tuple(changes[:_CHANGES]),
        more=max(len(changes) - _CHANGES, 0),
        asked_of_some=len(found) - len(changes),
    )


def _changes(rows: Iterable[Row], histories: Histories, places: Map) -> Iterator[Change]:
    for row in rows:
        (history,) = histories.of(row)
        if len(history.steps) > 1:
            yield Change(row.requirement.id, places.requirement(row.requirement.id), history.steps)


def _is_of_some_runs(change: Change) -> bool:
    """Whether nothing became of it but that it is asked, as of a later release, and was not before."""
    words = {step.word for step in change.steps} - {NOT_APPLICABLE, UNKNOWN}
    return len(words) == 1 and words.pop().tone in {"pass", "calm"}


def _worst_now(change: Change) -> int:
    return WORDS.index(change.steps[-1].word)


def _line(run: RecordedRun, places: Map) -> TrendLine:
    header = run.record.header
    (musts,) = [counts for heading, counts in run.column.counts if heading == "Musts"]
    return TrendLine(
        run=run,
        path=places.record(run.column),
        started=header.started_at,
        revision=header.revision,
        kit=header.kit_version,
        device=str(header.environment.get("device", "not stated")),
        musts=musts,
    )


# -- the drawing ------------------------------------------------------------------------------------------------------


def _points(runs: Sequence[RecordedRun], most: int) -> list[Point | None]:
    step = _WIDTH / (len(runs) - 1)
    return [_point(run, _MARGIN + step * number, most) for number, run in enumerate(runs)]


def _point(run: RecordedRun, x: float, most: int) -> Point | None:
    musts, verdict = run.record.assessment.musts, run.record.assessment.verdict
    # Of a run that decided a part only, and of one that is refuted, a number would mislead.
    if (
        verdict in {RunVerdict.ERROR, RunVerdict.INCOMPLETE, RunVerdict.NARROWED}
        or Verdict.NOT_RUN in musts
        or not most
    ):
        return None
    met, total = musts.get(Verdict.PASS, 0), sum(musts.values())
    y, top = (round(_MARGIN + _HEIGHT * (1 - count / most), 2) for count in (met, total))
    name = f"{run.column.label}, run of {run.record.header.started_at}"
    return Point(round(x, 2), y, top, f"{name}: {met} of {total} musts met")


def _paths(points: Iterable[Point | None], height: Callable[[Point], float]) -> Iterator[str]:
    """The coordinates of lines through points that follow each other."""
    line: list[str] = []
    for point in [*points, None]:
        if point is not None:
            line.append(f"{point.x},{height(point)}")
            continue
        if len(line) > 1:
            yield " ".join(line)
        line = []
