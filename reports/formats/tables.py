"""Tables of comma-separated values: a row for each requirement, and one for each test."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from conformance.records.result import TestResult
from conformance.records.runs import each_number
from conformance.text import brief
from reports.formats.runs import RecordedRun
from reports.model import AreaRows

REQUIREMENTS = (
    "record",
    "implementation",
    "dialect",
    "revision",
    "requirement",
    "area",
    "level",
    "composite",
    "verdict",
    "note",
    "text",
)
RESULTS = (
    "record",
    "test",
    "requirements",
    "verdict",
    "phase",
    "duration_s",
    "message",
    "expected",
    "seen",
    "left_behind",
    "waiver",
    "command",
    "runs",
)
#: Characters of a cell: the common spreadsheets hold 32,767.
_LONGEST = 32_000
#: What a spreadsheet takes for the beginning of a formula: in front, and where it may see another cell begin, since
#: some split at semicolons; the last four are = + - @ in full width.
_FORMULA = re.compile("(^|[\n;])(?=(?:[^\\S\n]|[\"'])*[-=+@\uff1d\uff0b\uff0d\uff20])")


def cell(value: object) -> str:
    r"""`value` as a cell that is read and not executed: an apostrophe stands before what would begin a formula.

    >>> cell("=1+1"), cell("1 = 1"), cell("\x1b[2J")
    ("'=1+1", '1 = 1', '\\u001b[2J')
    """
    text = str(value)
    # Most of a million results are like this.
    if text.isascii() and text.isprintable() and len(text) <= _LONGEST:
        if not text or (text[0].isalnum() and ";" not in text):
            return text
    else:
        text = brief(text, _LONGEST)
    return _FORMULA.sub(r"\1'", text)


class Table:
    """A table that is written a row at a time.

    Args:
        stream: to write to, which leaves the ends of lines as they are.
        heading: the names of the columns.
    """

    def __init__(self, stream: TextIO, heading: Sequence[str]) -> None:
        self._writer = csv.writer(stream, quoting=csv.QUOTE_ALL)
        self._writer.writerow(heading)

    def add(self, values: Iterable[object]) -> None:
        self._writer.writerow([cell(value) for value in values])


def requirement_rows(runs: Sequence[RecordedRun], areas: Iterable[AreaRows]) -> Iterator[tuple[object, ...]]:
    """What stands in each row of the requirements, with what the pages say in their cells."""
    rows = [row for area in areas for row in area.rows]
    for number, run in enumerate(runs):
        header, levels = run.record.header, run.record.assessment.levels
        for row in rows:
            entry, shown = row.requirement, row.cells[number]
            yield (
                run.name,
                header.implementation,
                header.dialect,
                header.revision,
                entry.id,
                entry.area,
                levels.get(entry.id, entry.level),
                "yes" if entry.composite else "no",
                shown.word.key,
                shown.note,
                entry.text,
            )


def result_row(run: RecordedRun, result: TestResult) -> tuple[object, ...]:
    """What stands in the row of one test."""
    return (
        run.name,
        result.test,
        " ".join(result.requirements),
        result.verdict.value,
        result.phase,
        result.duration_s,
        result.message,
        result.expected or "",
        result.seen or "",
        result.left_behind or "",
        "" if result.waiver is None else result.waiver.get("reason", ""),
        result.command,
        each_number(result.runs),
    )
