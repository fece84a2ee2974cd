"""Records of one implementation, in the order of its releases."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from reports.formats.ctrf import milliseconds_of
from reports.formats.runs import RecordedRun

#: Runs of which each is compared with the one before; of those before them, the trend tells.
_STEPS = 10


@dataclass(frozen=True)
class Series:
    """The records of one implementation: of one name, dialect and class.

    Attributes:
        title: of it.
        runs: of the oldest release first, and of one release the oldest first.
    """

    title: str
    runs: tuple[RecordedRun, ...]

    @property
    def pairs(self) -> tuple[tuple[RecordedRun, RecordedRun], ...]:
        """What is compared: the last with the first, and each of the last ones with the one before.

        Nothing can rest on a record that is refuted.
        """
        runs = [run for run in self.runs if not run.record.defects]
        steps = [*pairwise(runs)][: -_STEPS - 1 : -1]
        whole = [(runs[0], runs[-1])] if len(runs) > 2 else []
        return (*whole, *steps)


def series_of(runs: Sequence[RecordedRun]) -> tuple[Series, ...]:
    """All `runs`, those of one implementation together; a name that two classes have stands for both apart."""
    groups: dict[tuple[str, str, str], list[RecordedRun]] = {}
    for run in runs:
        header = run.record.header
        graph_class = str(header.environment.get("graph_class", ""))
        groups.setdefault((header.implementation, header.dialect, graph_class), []).append(run)
    names = Counter((name, dialect) for name, dialect, _ in groups)
    return tuple(
        Series(f"{name} ({dialect}{f', {graph_class}' if names[name, dialect] > 1 else ''})", _in_order(group))
        for (name, dialect, graph_class), group in groups.items()
    )


def _in_order(runs: Iterable[RecordedRun]) -> tuple[RecordedRun, ...]:
    """The `runs` by release and time: a release may be run again after a later one, as with newer suites."""
    return tuple(sorted(runs, key=_place))


def _place(run: RecordedRun) -> tuple[tuple[int, ...], int]:
    header = run.record.header
    # A run that could not start has no revision.
    return tuple(map(int, re.findall(r"\d+", header.revision))), milliseconds_of(header.started_at)
