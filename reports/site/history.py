"""What became of one requirement over the runs of one implementation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from reports.formats.runs import RecordedRun
from reports.model import Row
from reports.site.map import Map
from reports.site.series import Series
from reports.words import Word


@dataclass(frozen=True)
class Step:
    """Runs one after the other that say the same.

    Attributes:
        started, label, path: of the first of them.
        word: what they say.
        runs: how many they are.
    """

    started: str
    label: str
    path: str
    word: Word
    runs: int


@dataclass(frozen=True)
class History:
    """What became of a requirement, the oldest first.

    Attributes:
        title: of the implementation.
    """

    title: str
    steps: tuple[Step, ...]


class Histories:
    """The histories of a report.

    Args:
        series: of its records; one that has a single record has no history.
        runs: its records, in the order of its columns.
        places: of their pages.
    """

    def __init__(self, series: Iterable[Series], runs: Sequence[RecordedRun], places: Map) -> None:
        numbers = {run.name: number for number, run in enumerate(runs)}
        self._places = places
        self._series = [
            (one.title, [(numbers[run.name], run) for run in one.runs]) for one in series if len(one.runs) > 1
        ]

    def of(self, row: Row) -> tuple[History, ...]:
        """Those of one requirement."""
        return tuple(History(title, self._steps(row, runs)) for title, runs in self._series)

    def _steps(self, row: Row, runs: Sequence[tuple[int, RecordedRun]]) -> tuple[Step, ...]:
        steps: list[Step] = []
        for number, run in runs:
            word = row.cells[number].word
            if steps and steps[-1].word == word:
                steps[-1] = replace(steps[-1], runs=steps[-1].runs + 1)
            else:
                path = self._places.record(run.column)
                steps.append(Step(run.record.header.started_at, run.column.label, path, word, 1))
        return tuple(steps)
