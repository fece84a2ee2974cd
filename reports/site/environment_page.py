"""What each record was made with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reports.formats.runs import RecordedRun
from reports.site.map import Map


@dataclass(frozen=True)
class EnvironmentRow:
    """One thing of the environment; what a record does not state is empty."""

    name: str
    values: tuple[str, ...]
    differs: bool


@dataclass(frozen=True)
class EnvironmentPage:
    """The page: a column for each record, and rows for what was run and for what it ran with."""

    heads: tuple[tuple[str, str], ...]
    groups: tuple[tuple[str, tuple[EnvironmentRow, ...]], ...]


def environment_page(runs: Sequence[RecordedRun], places: Map) -> EnvironmentPage:
    """The page."""
    return EnvironmentPage(
        heads=tuple((run.column.label, places.record(run.column)) for run in runs),
        groups=(
            ("The run", _rows([dict(run.column.facts) for run in runs])),
            ("The environment", _rows([dict(run.column.environment) for run in runs])),
        ),
    )


def _rows(tables: Sequence[dict[str, str]]) -> tuple[EnvironmentRow, ...]:
    """What is not alike in all records comes first."""
    rows = [_row(name, tables) for name in dict.fromkeys(name for table in tables for name in table)]
    return tuple(sorted(rows, key=lambda row: not row.differs))


def _row(name: str, tables: Sequence[dict[str, str]]) -> EnvironmentRow:
    values = tuple(table.get(name, "") for table in tables)
    return EnvironmentRow(name, values, differs=len(set(values)) > 1)
