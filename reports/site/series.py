"""Records of one implementation, in the order of their runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reports.formats.ctrf import milliseconds_of
from reports.formats.runs import RecordedRun


@dataclass(frozen=True)
class Series:
    """The records of one implementation in one dialect.

    Attributes:
        implementation, dialect: of all of them.
        runs: the oldest first.
    """

    implementation: str
    dialect: str
    runs: tuple[RecordedRun, ...]

    @property
    def title(self) -> str:
        return f"{self.implementation} ({self.dialect})"

    @property
    def newest(self) -> RecordedRun:
        return self.runs[-1]

    @property
    def pairs(self) -> tuple[tuple[RecordedRun, RecordedRun], ...]:
        """What is worth comparing: the newest with the oldest, and each with the one before, the latest first."""
        steps = [*zip(self.runs, self.runs[1:], strict=False)][::-1]
        whole = [(self.runs[0], self.runs[-1])] if len(self.runs) > 2 else []
        return (*whole, *steps)


def series_of(runs: Sequence[RecordedRun]) -> tuple[Series, ...]:
    """All `runs`, those of one implementation and dialect together."""
    groups: dict[tuple[str, str], list[RecordedRun]] = {}
    for run in runs:
        groups.setdefault((run.record.header.implementation, run.record.header.dialect), []).append(run)
    return tuple(Series(*key, _in_order(group)) for key, group in groups.items())


def _in_order(runs: Iterable[RecordedRun]) -> tuple[RecordedRun, ...]:
    return tuple(sorted(runs, key=lambda run: milliseconds_of(run.record.header.started_at)))
