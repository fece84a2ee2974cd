"""The records of a report under names that a file can have, and their tests one at a time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.errors import RecordError
from conformance.records.chain import Chain
from conformance.records.lines import lines_of, opened
from conformance.records.record import Record
from conformance.records.result import TestResult
from conformance.records.verdicts import Verdict
from reports.model import Column

_LONGEST = 80


@dataclass(frozen=True)
class RecordedRun:
    """One record of a report.

    Attributes:
        name: of its files: letters, digits, ``.``, ``_`` and ``-``, and no other record's even where case is ignored.
        column: what the pages show of it.
        record: itself.
    """

    name: str
    column: Column
    record: Record


def runs_of(columns: Iterable[Column], records: Iterable[Record]) -> tuple[RecordedRun, ...]:
    """The `records` with their `columns`, named after the labels of these."""
    taken: set[str] = set()
    return tuple(
        RecordedRun(_name(column.label, taken), column, record) for column, record in zip(columns, records, strict=True)
    )


def _name(label: str, taken: set[str]) -> str:
    # No name begins with a dot or a dash: it would be a hidden file, a folder above, or an option.
    stem = re.sub(r"[^A-Za-z0-9._]+", "-", label)[:_LONGEST].strip(".-") or "implementation"
    name, number = stem, 1
    while name.lower() in taken:
        number += 1
        name = f"{stem}-{number}"
    taken.add(name.lower())
    return name


def tests_of(record: Record) -> Iterator[TestResult]:
    """Each test of `record` once: those that did not run, then the others as they ended; without their scripts.

    Nothing of them is kept, so this reads the file once more; its lines were checked when it was read first.

    Raises:
        RecordError: the file is no longer what it was.
    """
    chain = Chain()
    with opened(record.path, "record") as stream:
        for line in lines_of(record.path, stream):
            chain.follow(line.number, line.text)
            kind = line.values.get("kind")
            if kind == "result":
                yield _result(record, line.values)
            elif kind == "plan":
                for test, ids in line.values.get("planned", {}).items():
                    if not record.plan.has_ended(test):
                        yield TestResult(test, tuple(ids), Verdict.NOT_RUN)
    if (chain.digest, chain.broken) != (record.chain.digest, record.chain.broken):
        raise _changed(record)


def _result(record: Record, values: Mapping[str, Any]) -> TestResult:
    try:
        return TestResult.from_dict(values)
    except (KeyError, TypeError, ValueError):
        raise _changed(record) from None


def _changed(record: Record) -> RecordError:
    return RecordError(f"{record.path} was changed while it was read")
