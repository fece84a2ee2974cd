"""The start of a waiver file, written from a record's failures; what only a person knows is left empty."""

from __future__ import annotations

import glob
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path

from conformance.errors import one_line
from conformance.records.header import Header
from conformance.records.record import Record, read_record
from conformance.records.result import TestResult
from conformance.records.verdicts import Verdict
from conformance.waivers.waiver import SCOPE, facts

#: How long a waiver holds when nobody says otherwise.
VALID_DAYS = 90
#: So many failures are named for each waiver of a requirement, and so many tests have a waiver of their own.
NAMED = 50
TESTS = 10_000
_WIDTH = 110


class Failures:
    """The failures of one record, taken in while its results pass.

    A requirement is waived where a failing test decides it alone, any other test by its name: so that no more is
    waived than fails, as far as one can know.
    """

    def __init__(self, header: Header) -> None:
        self._scored = {entry.id for entry in header.requirements if entry.scored}
        self._alone: dict[str, _Shown] = {}
        self._beside: dict[tuple[str, ...], list[tuple[str, str]]] = {}
        self._room = TESTS
        self._unnamed: Counter[tuple[str, ...]] = Counter()

    def planned(self, test: str, ids: tuple[str, ...]) -> None:
        """Only results fail."""

    def result(self, result: TestResult, size: int) -> None:  # noqa: ARG002 - what watches a record is told
        """Take in a result."""
        if not _needs_waiver(result, self._scored):
            return
        identities = _scored_ids(result, self._scored)
        line = f"# {result.verdict}: {_shown(result.test)}: {_shown(_reason(result))}"
        if len(identities) == 1:
            self._alone.setdefault(identities[0], _Shown()).add(line)
        elif self._room:
            self._room -= 1
            self._beside.setdefault(tuple(identities), []).append((result.test, line))
        else:
            self._unnamed[tuple(identities)] += 1

    def entries(self, end: Sequence[str]) -> list[str]:
        """A waiver for each, with `end` for what all of them have in common."""
        entries = [_entry("requirement", name, shown.lines(), end) for name, shown in sorted(self._alone.items())]
        beside = [pair for ids, pairs in self._beside.items() if not self._are_waived(ids) for pair in pairs]
        return entries + [_entry("test", test, [line], end) for test, line in beside]

    @property
    def left_out(self) -> int:
        """How many failures need a waiver and were too many."""
        return sum(count for ids, count in self._unnamed.items() if not self._are_waived(ids))

    def _are_waived(self, ids: Collection[str]) -> bool:
        return bool(ids) and self._alone.keys() >= set(ids)


class _Shown:
    """The first of some failures, as comments."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._more = 0

    def add(self, line: str) -> None:
        if len(self._lines) < NAMED:
            self._lines.append(line)
        else:
            self._more += 1

    def lines(self) -> list[str]:
        return [*self._lines, f"# and {self._more:,} more"] if self._more else self._lines


def start_of(path: Path, today: date) -> str:
    """A waiver file for the failures in the record at `path`; empty when there are none.

    Args:
        path: of the record of a run.
        today: the day from which the waivers are to hold.

    Raises:
        RecordError: the record cannot be read.
    """
    watching: list[Failures] = []

    def watch(header: Header) -> Failures:
        watching.append(Failures(header))
        return watching[0]

    record = read_record(path, watch)
    (failures,) = watching
    entries = failures.entries(_end(record, today))
    return "\n\n".join(["\n".join(_head(record, failures.left_out)), *entries]) + "\n" if entries else ""


def _needs_waiver(result: TestResult, scored: Iterable[str]) -> bool:
    """Whether it counts: a failure of what is judged, and any crash or hang."""
    return result.verdict.rejects and (result.rejection is not Verdict.FAIL or bool(_scored_ids(result, scored)))


def _scored_ids(result: TestResult, scored: Iterable[str]) -> list[str]:
    return [identity for identity in result.requirements if identity in scored]


def _head(record: Record, left_out: int) -> Iterator[str]:
    header = record.header
    yield f"# Known failures of {_shown(header.implementation)} as {header.dialect} {header.revision}, from a run of"
    yield f"# {header.started_at}. Fill in each reason, link and owner; a file with an empty one is refused."
    if not record.complete:
        yield "# The run did not come to its end: there may be more failures."
    counts = record.outcomes.tests
    if left_out:
        yield f"# Not here, because there are too many: {left_out:,} other tests that failed."
    if counts[Verdict.ERROR]:
        yield f"# Not here, because no waiver covers the kit's own errors: {counts[Verdict.ERROR]} of them."
    if counts[Verdict.WAIVED]:
        yield f"# Not here, because they were waived in that run: {counts[Verdict.WAIVED]} of them."


def _end(record: Record, today: date) -> list[str]:
    """What all entries have in common."""
    header = record.header
    run: Mapping[str, str] = facts(header.implementation, header.revision, header.environment)
    return [
        'reason = ""',
        'link = ""',
        'owner = ""',
        f"expires = {today + timedelta(days=VALID_DAYS)}",
        # Marks of patterns in a name must mean themselves.
        *(f"{name} = {_text(glob.escape(run[name]))}" for name in SCOPE if name in run),
    ]


def _entry(key: str, name: str, seen: Iterable[str], end: Iterable[str]) -> str:
    return "\n".join(["[[waiver]]", f"{key} = {_text(name)}", *seen, *end])


def _reason(result: TestResult) -> str:
    return one_line(result.seen or result.message, _WIDTH)


def _shown(text: str) -> str:
    """`text` as a comment can hold it."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _text(value: str) -> str:
    """`value` as TOML writes a text, which is JSON's way but for one control character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
