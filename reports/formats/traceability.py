"""Traceability: from each statement of a document to its requirements, and from these to tests and verdicts.

Three lists that refer to each other by ids: a tree would have to hold all tests at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from conformance.records.result import TestResult
from conformance.requirements.loading import load_documents
from reports.formats.runs import RecordedRun
from reports.model import AreaRows

#: Grows when a reader of the old form would be misled.
SCHEMA = 1


def traceability(runs: Sequence[RecordedRun], areas: Sequence[AreaRows]) -> dict[str, Any]:
    """All of it but the tests."""
    rows = [row for area in areas for row in area.rows]
    return {
        "format": "graph-conformance traceability",
        "schema": SCHEMA,
        "statements": list(_statements(runs)),
        "requirements": [
            {
                "id": row.requirement.id,
                "level": row.requirement.level,
                "documents": list(row.requirement.documents),
                "statements": list(row.requirement.statements),
                "verdicts": {run.name: cell.word.key for run, cell in zip(runs, row.cells, strict=True)},
            }
            for row in rows
        ],
    }


def traced(run: RecordedRun, result: TestResult) -> dict[str, Any]:
    """One test of `run`."""
    return {
        "record": run.name,
        "test": result.test,
        "requirements": list(result.requirements),
        "verdict": result.verdict.value,
    }


def _statements(runs: Sequence[RecordedRun]) -> Iterator[dict[str, Any]]:
    """What the documents of the records' dialects say; and of other suites' statements no more than their ids."""
    decided_by: dict[str, dict[str, None]] = {}
    for run in runs:
        for entry in run.record.header.requirements:
            for identity in entry.statements:
                decided_by.setdefault(identity, {})[entry.id] = None
    dialects = {run.record.header.dialect for run in runs}
    for document in load_documents().values():
        for statement in document.statements:
            by = decided_by.pop(statement.id, None)
            if by is not None or document.dialect in dialects:
                yield {
                    "id": statement.id,
                    "document": document.title,
                    "text": statement.text,
                    "requirements": [*(by or ())],
                    "untestable": statement.untestable,
                }
    for identity, by in decided_by.items():
        yield {"id": identity, "document": None, "text": None, "requirements": [*by], "untestable": None}
