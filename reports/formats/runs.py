"""The records of a report under names that a file can have, and their tests one at a time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from conformance.errors import RecordError
from conformance.records.chain import Chain
from conformance.records.lines import opened, texts_of
from conformance.records.record import Record
from conformance.records.result import TestResult
from conformance.records.verdicts import Verdict
from reports.model import Column
from reports.names import Names

_STARTED = b'{"kind": "started", '


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
    names = Names("implementation")
    return tuple(
        RecordedRun(names.make(column.label), column, record) for column, record in zip(columns, records, strict=True)
    )


def tests_of(record: Record) -> Iterator[TestResult]:
    """Each test of `record` once: those that did not run, then the others as they ended; without their scripts.

    Nothing of them is kept, so this reads the file once more; its lines were checked when it was read first, so they
    are only compared with those.

    Raises:
        RecordError: the file is no longer what it was.
    """
    chain = Chain()
    with opened(record.path, "record") as stream:
        for number, line in enumerate(texts_of(record.path, stream), 1):
            if not line.strip() or (record.truncated and _is_cut(line)):
                continue
            chain.follow(number, line.removesuffix(b"\n"))
            # Half of the lines, of which nothing is needed.
            if not line.startswith(_STARTED):
                yield from _entries(record, line)
    if (chain.digest, chain.broken) != (record.chain.digest, record.chain.broken):
        raise _changed(record)


def _is_cut(line: bytes) -> bool:
    """Whether nobody knows the rest of `line`."""
    if line.endswith(b"\n"):
        return False
    try:
        json.loads(line)
    except ValueError:
        return True
    return False


def _entries(record: Record, line: bytes) -> Iterator[TestResult]:
    try:
        values = json.loads(line)
        kind = values.get("kind")
        if kind == "result":
            yield TestResult.from_dict(values)
        elif kind == "plan":
            for test, ids in values.get("planned", {}).items():
                if not record.plan.has_ended(test):
                    yield TestResult(test, tuple(ids), Verdict.NOT_RUN)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        raise _changed(record) from None


def _changed(record: Record) -> RecordError:
    return RecordError(f"{record.path} was changed while it was read")
