"""Compares two records: of one implementation at two times, of two releases, or of two implementations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from conformance.comparing.changes import Change, transition
from conformance.comparing.contracts import compare_requirements
from conformance.comparing.found import Found, RequirementChange, TestChange
from conformance.comparing.headers import notes_of
from conformance.comparing.table import Fate, Side, Table
from conformance.errors import ExitStatus, RecordError, one_line
from conformance.records.header import Header
from conformance.records.record import Record, read_record
from conformance.records.result import TestResult
from conformance.records.stream import LeftOut, Planned, RecordStream
from conformance.records.verdicts import RunVerdict, Verdict

#: Characters of what a test saw.
_SEEN = 200
_NOT_APPLICABLE, _NOT_SELECTED, _NOT_THERE = "not applicable", "not selected", "not there"


@dataclass(frozen=True)
class Comparison:
    """Two records, compared.

    Attributes:
        old: the first record.
        new: the second.
        notes: what a reader must know beside the changes, each a sentence without its stop.
        requirements: what became of them; a change that none has is left out, here and below.
        tests: what became of them.
    """

    old: Record
    new: Record
    notes: tuple[str, ...]
    requirements: Mapping[Change, Found[RequirementChange]]
    tests: Mapping[Change, Found[TestChange]]

    @property
    def incomplete(self) -> tuple[Record, ...]:
        """The records whose runs did not come to their end."""
        return tuple(record for record in (self.old, self.new) if not record.complete)

    @property
    def regressions(self) -> tuple[int, int]:
        """How many requirements and how many tests regressed."""
        requirements, tests = self.requirements.get(Change.REGRESSED), self.tests.get(Change.REGRESSED)
        return requirements.count if requirements else 0, tests.count if tests else 0

    @property
    def exit_status(self) -> ExitStatus:
        """What a command that compares ends with: an incomplete record and the kit's own errors hide regressions."""
        if self.incomplete:
            return ExitStatus.USAGE
        if self.new.assessment.verdict is RunVerdict.ERROR:
            return ExitStatus.KIT_FAILED
        return ExitStatus.NOT_CONFORMING if any(self.regressions) else ExitStatus.CONFORMING


def compare(old: Path, new: Path) -> Comparison:
    """Compare the records at `old` and `new`.

    Raises:
        RecordError: one cannot be read, or is refuted; the reasons of both, if it is so of both.
    """
    table, reasons = Table(), list[str]()
    watchers = _Ends(table, Side.OLD), _Ends(table, Side.NEW)
    records = [_read(path, watcher, reasons) for path, watcher in zip((old, new), watchers, strict=True)]
    first, second = records
    if first is None or second is None:
        raise RecordError("; ".join(reasons))
    tests = _Tests(first, second, table, watchers[1].details)
    tests.take_in()
    return Comparison(
        first,
        second,
        notes_of(first, second, tests.by_name, tests.by_chance),
        compare_requirements(first, second, tests.rejected_alike, tests.still_open),
        {change: tests.found[change] for change in Change if change in tests.found},
    )


class _Ends:
    """Watches the results of one record.

    Attributes:
        side: which of the two it is.
        table: that it fills.
        details: of the first tests that passed in the old record and went wrong in this one, what was seen and the
            command that runs them again.
    """

    def __init__(self, table: Table, side: Side) -> None:
        self.table = table
        self.side = side
        self.details: dict[str, tuple[str, str]] = {}

    def planned(self, test: str, ids: tuple[str, ...]) -> None:
        """The plan was read before, with its digests."""

    def result(self, result: TestResult, size: int) -> None:  # noqa: ARG002 - what watches a record is told
        self.table.end(self.side, result.test, result.verdict)
        if self.side is Side.OLD or not result.verdict.rejects or len(self.details) == Found.KEPT:
            return
        fate = self.table.fate(result.test)
        if fate.old is Verdict.PASS and fate.same_code:
            self.details[result.test] = (one_line(result.seen or result.message, _SEEN), result.command)


def _read(path: Path, watcher: _Ends, reasons: list[str]) -> Record | None:
    """The record at `path`; ``None``, and why in `reasons`, when nothing can rest on it."""
    try:
        for entry in _plan_of(path):
            if isinstance(entry, Planned):
                watcher.table.plan(watcher.side, entry.test, entry.digest)
            else:
                watcher.table.leave_out(watcher.side, entry.test)
        record = read_record(path, lambda _: watcher)
    except RecordError as error:
        reasons.append(str(error))
        return None
    if record.defects:
        more = f" (and {len(record.defects) - 1} more)" if len(record.defects) > 1 else ""
        reasons.append(f"{path}: the record contradicts itself or its suites: {record.defects[0]}{more}")
        return None
    return record


def _plan_of(path: Path) -> Iterator[Planned | LeftOut]:
    """The tests that a record names in front of the first that began."""
    for entry in RecordStream(path):
        if isinstance(entry, Planned | LeftOut):
            yield entry
        elif not isinstance(entry, Header):
            return


class _Tests:
    """Says of each test what became of it; the names come from the files once more.

    Attributes:
        found: what became of the tests.
        by_name: how many of both records have no digests to compare.
        by_chance: how many were flaky in the old record, and passed in the new one.
        rejected_alike: the ids of what a test rejects in the new record that has the same code in both.
        still_open: the ids of what a test rejected in the old record that does not pass, unchanged, in the new one.
    """

    def __init__(self, old: Record, new: Record, table: Table, details: Mapping[str, tuple[str, str]]) -> None:
        self._old, self._new, self._table, self._details = old, new, table, details
        self._scored = {entry.id for record in (old, new) for entry in record.header.requirements if entry.scored}
        self.found: dict[Change, Found[TestChange]] = {}
        self.by_name = self.by_chance = 0
        self.rejected_alike: set[str] = set()
        self.still_open: set[str] = set()

    def take_in(self) -> None:
        """Go through the tests of the new record, and those that only the old one has."""
        for entry in _plan_of(self._new.path):
            if isinstance(entry, Planned):
                self._planned(entry, self._table.fate(entry.test))
        for entry in _plan_of(self._old.path):
            if isinstance(entry, Planned) and (fate := self._table.fate(entry.test)).new is None:
                self._gone(entry, fate)

    def _planned(self, entry: Planned, fate: Fate) -> None:
        old, new = fate.old, fate.new
        assert new is not None
        if old is None:
            self._new_one(entry, fate, new)
            return
        self.by_name += fate.by_name
        if fate.same_code and new.rejects:
            self.rejected_alike.update(entry.requirements)
        if old.is_unmet and not (fate.same_code and new is Verdict.PASS):
            self.still_open.update(entry.requirements)
        if fate.same_code:
            self.by_chance += old is Verdict.FLAKY and new is Verdict.PASS
            self._add(transition(old, new, scored=not self._scored.isdisjoint(entry.requirements)), entry, old, new)
        else:
            self._add(Change.CHANGED, entry, old, new, is_notable=old is not new)

    def _new_one(self, entry: Planned, fate: Fate, new: Verdict) -> None:
        if self._old.narrowed and not fate.left_out_of_old:
            self._add(Change.DECIDED if new.is_answer else Change.SAME, entry, _NOT_SELECTED, new)
        else:
            before = _NOT_APPLICABLE if fate.left_out_of_old else _NOT_THERE
            self._add(Change.NEW, entry, before, new, is_notable=new.is_trouble)

    def _gone(self, entry: Planned, fate: Fate) -> None:
        old = fate.old
        assert old is not None
        if old.is_unmet:
            self.still_open.update(entry.requirements)
        if self._new.narrowed and not fate.left_out_of_new:
            self._add(Change.UNDECIDED if old.is_answer else Change.SAME, entry, old, _NOT_SELECTED)
        else:
            after = _NOT_APPLICABLE if fate.left_out_of_new else _NOT_THERE
            self._add(Change.GONE, entry, old, after, is_notable=old.is_trouble)

    def _add(self, change: Change, entry: Planned, before: object, after: object, *, is_notable: bool = True) -> None:
        seen, command = self._details.get(entry.test, ("", "")) if change is Change.REGRESSED else ("", "")
        found = self.found.setdefault(change, Found())
        change_of_test = TestChange(entry.test, entry.requirements, str(before), str(after), seen, command)
        found.add(change_of_test, is_notable=is_notable)
