"""How much of the documents a set of runs really decided.

Nothing is taken from intentions: a statement is decided when a run of its own document's dialect passed or rejected
one of its requirements.  What was skipped, unsupported, not run, or spoiled by an error of the kit decides nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.records.record import Record
from conformance.records.verdicts import Verdict
from conformance.requirements.statements import Document, Statement


@dataclass(frozen=True)
class Coverage:
    """What of one document, or of one of its members, was decided.

    Attributes:
        document: its key.
        member: the member, or ``None`` for the whole document.
        decided: the statements that some run decided.
        untestable: those that no test can decide.
        undecided: the rest.
    """

    document: str
    member: str | None
    decided: tuple[Statement, ...]
    untestable: tuple[Statement, ...]
    undecided: tuple[Statement, ...]

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """How many statements there are, and how many are decided, untestable and undecided."""
        parts = (len(self.decided), len(self.untestable), len(self.undecided))
        return (sum(parts), *parts)

    def to_dict(self) -> dict[str, Any]:
        """The coverage as JSON values."""
        return {
            "document": self.document,
            "member": self.member,
            "decided": [entry.id for entry in self.decided],
            "untestable": {entry.id: entry.untestable for entry in self.untestable},
            "undecided": [entry.id for entry in self.undecided],
        }


def decides(verdict: Verdict) -> bool:
    """Whether a requirement with this verdict was put to the implementation and answered."""
    return verdict is Verdict.PASS or verdict.rejects


def decided_requirements(records: Iterable[Record]) -> Mapping[str, set[str]]:
    """The ids that the runs of each dialect decided.

    A run judges only those requirements that hold for its own dialect and revision.
    """
    by_dialect: dict[str, set[str]] = {}
    for record in records:
        ids = {name for name, verdict in record.assessment.requirements.items() if decides(verdict)}
        by_dialect.setdefault(record.header.dialect, set()).update(ids)
    return by_dialect


def cover(document: Document, records: Iterable[Record]) -> tuple[Coverage, ...]:
    """What the `records` decided of each member of `document`, then of the whole."""
    answered_ids = decided_requirements(records).get(document.dialect, set())
    parts = [
        _cover(document, member, [entry for entry in document.statements if entry.member == member], answered_ids)
        for member in document.members
    ]
    return (*parts, _cover(document, None, document.statements, answered_ids))


def _cover(
    document: Document, member: str | None, statements: Collection[Statement], answered_ids: Collection[str]
) -> Coverage:
    testable = [entry for entry in statements if entry.untestable is None]
    decided = [entry for entry in testable if not _unanswered(entry, answered_ids)]
    return Coverage(
        document.key,
        member,
        decided=tuple(decided),
        untestable=tuple(entry for entry in statements if entry.untestable is not None),
        undecided=tuple(entry for entry in testable if _unanswered(entry, answered_ids)),
    )


def _unanswered(statement: Statement, answered_ids: Collection[str]) -> bool:
    """Whether none of the requirements that decide the statement is among the `answered_ids` ones."""
    return not any(name in answered_ids for name in statement.requirements)
