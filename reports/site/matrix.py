"""The matrix: each requirement on each implementation, as a table and as data for the script that filters it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from conformance.text import visible
from reports.formats.json_text import json_text
from reports.formats.runs import RecordedRun
from reports.model import AreaRows, Cell, Report
from reports.site.map import Map
from reports.words import WORDS, Word

#: Cells of a table that stands in the page besides the one that the script draws.  A larger one is read by browsers
#: without scripts only.
SMALL = 20_000

_LETTERS = {word.key: chr(ord("a") + number) for number, word in enumerate(WORDS)}


@dataclass(frozen=True)
class Head:
    """One column.

    Attributes:
        label: of the record.
        path: of its page.
        name: of its failures' folder.
        dialect: of it.
    """

    label: str
    path: str
    name: str
    dialect: str


@dataclass(frozen=True)
class Matrix:
    """The page.

    Attributes:
        heads: the columns.
        areas: the rows.
        words: the verdicts that occur, the worst first.
        is_small: whether the table stands in the page itself.
        places: of the pages that cells and rows lead to.
        dialects, capabilities: that rows can be filtered by.
    """

    heads: tuple[Head, ...]
    areas: tuple[AreaRows, ...]
    words: tuple[Word, ...]
    is_small: bool
    places: Map
    dialects: tuple[str, ...]
    capabilities: tuple[str, ...]

    @property
    def selects(self) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
        """The lists that one chooses from: key, title and names."""
        areas = tuple(area.name for area in self.areas)
        return (
            ("area", "Area", areas),
            ("dialect", "Dialect", self.dialects),
            ("capability", "Capability", self.capabilities),
        )

    @property
    def data(self) -> Markup:
        """The same as JSON, which stands in the page and ends no element there."""
        return Markup(escaped(json_text(_data(self))))  # noqa: S704 - nothing in it can end the element


def matrix(report: Report, runs: Sequence[RecordedRun], places: Map) -> Matrix:
    """The page."""
    rows = [row for area in report.areas for row in area.rows]
    return Matrix(
        heads=tuple(
            Head(run.column.label, places.record(run.column), run.name, run.record.header.dialect) for run in runs
        ),
        areas=report.areas,
        words=report.words,
        is_small=len(rows) * len(runs) <= SMALL,
        places=places,
        dialects=_once(run.record.header.dialect for run in runs),
        capabilities=_once(name for row in rows for name in row.requirement.capabilities),
    )


def _once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))


def escaped(text: str) -> str:
    r"""JSON in which nothing looks like HTML.

    >>> escaped(json.dumps("</script>"))
    '"\\u003c/script\\u003e"'
    """
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _data(matrix: Matrix) -> dict[str, Any]:
    dialects = {name: 1 << number for number, name in enumerate(matrix.dialects)}
    capabilities = {name: number for number, name in enumerate(matrix.capabilities)}
    return {
        "heads": [
            {"label": visible(head.label), "path": head.path, "name": head.name, "dialect": head.dialect}
            for head in matrix.heads
        ],
        "words": [[word.key, word.symbol, word.text, word.tone] for word in WORDS],
        "areas": [visible(area.name) for area in matrix.areas],
        "rows": [
            [
                visible(row.requirement.id),
                matrix.places.requirements[row.requirement.id],
                row.requirement.level,
                number,
                sum(dialects.get(name, 0) for name in row.requirement.dialects),
                [capabilities[name] for name in row.requirement.capabilities],
                visible(row.requirement.text),
                "".join(map(_letter, row.cells)),
            ]
            for number, area in enumerate(matrix.areas)
            for row in area.rows
        ],
        "dialects": list(matrix.dialects),
        "capabilities": [visible(name) for name in matrix.capabilities],
    }


def _letter(cell: Cell) -> str:
    """The verdict, as a capital when it has a page."""
    letter = _LETTERS[cell.word.key]
    return letter if cell.finding is None else letter.upper()
