"""How much of the documents a set of runs really decided.

Nothing is taken from intentions: a statement is decided when runs of its own document's dialect passed or rejected
each requirement that asserts it and is judged.  What was skipped, unsupported, not run, or spoiled by an error of the
kit decides nothing, and neither does what is only recorded, or what stands in a record that is refuted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from conformance.records.record import Record
from conformance.requirements.statements import Document, Statement


@dataclass(frozen=True)
class Coverage:
    """What of one document, or of one of its members, was decided.

    Attributes:
        document: its key.
        member: the member, or ``None`` for the whole document.
        decided: the statements that the runs decided.
        recorded: those that leave something open: what the runs saw of it is recorded, and decides nothing.
        untestable: those that no test can decide.
        undecided: the rest.
    """

    document: str
    member: str | None
    decided: tuple[Statement, ...]
    recorded: tuple[Statement, ...]
    untestable: tuple[Statement, ...]
    undecided: tuple[Statement, ...]

    @property
    def counts(self) -> tuple[int, int, int, int, int]:
        """How many statements there are, and how many are decided, recorded, untestable and undecided."""
        parts = (len(self.decided), len(self.recorded), len(self.untestable), len(self.undecided))
        return (sum(parts), *parts)

    def to_dict(self) -> dict[str, Any]:
        """The coverage as JSON values."""
        return {
            "document": self.document,
            "member": self.member,
            "decided": [entry.id for entry in self.decided],
            "recorded": [entry.id for entry in self.recorded],
            "untestable": {entry.id: entry.untestable for entry in self.untestable},
            "undecided": [entry.id for entry in self.undecided],
        }


@dataclass(frozen=True)
class _Answers:
    """What the runs of one dialect said of the requirements by id.

    Attributes:
        judged: those that were answered and are judged.
        recorded: those that are only recorded.
    """

    judged: frozenset[str]
    recorded: frozenset[str]

    @classmethod
    def of(cls, dialect: str, records: Iterable[Record]) -> _Answers:
        """Those of the `records` of that `dialect`."""
        judged: set[str] = set()
        recorded: set[str] = set()
        for record in records:
            if record.header.dialect == dialect and not record.defects:
                assessment = record.assessment
                open_ids = {name for name, level in assessment.levels.items() if level == "may"}
                recorded |= open_ids
                judged |= {name for name, verdict in assessment.requirements.items() if verdict.is_answer} - open_ids
        return cls(frozenset(judged), frozenset(recorded))

    def decide(self, statement: Statement) -> bool:
        """Whether each judged requirement that asserts the `statement` was answered, and there is one."""
        return not self.record(statement) and set(statement.requirements) <= self.judged | self.recorded

    def record(self, statement: Statement) -> bool:
        """Whether the `statement` rests on nothing but what is recorded."""
        return self.recorded.issuperset(statement.requirements)


def cover(document: Document, records: Iterable[Record]) -> tuple[Coverage, ...]:
    """What the `records` decided of each member of `document`, then of the whole."""
    answered = _Answers.of(document.dialect, records)
    parts = [
        _cover(document, member, [entry for entry in document.statements if entry.member == member], answered)
        for member in document.members
    ]
    return (*parts, _cover(document, None, document.statements, answered))


def _cover(document: Document, member: str | None, statements: Collection[Statement], answered: _Answers) -> Coverage:
    testable = [entry for entry in statements if entry.untestable is None]
    return Coverage(
        document.key,
        member,
        decided=tuple(entry for entry in testable if answered.decide(entry)),
        recorded=tuple(entry for entry in testable if answered.record(entry)),
        untestable=tuple(entry for entry in statements if entry.untestable is not None),
        undecided=tuple(entry for entry in testable if not answered.decide(entry) and not answered.record(entry)),
    )
