"""The record: one run of one implementation as JSON lines, read once and summed up.

The format is described in ``docs/record.md``.  `read_record` sums up what `conformance.records.stream.RecordStream`
reads, and reports need nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Protocol

from conformance.records.assessment import Assessment, Target, assess
from conformance.records.causes import Causes
from conformance.records.chain import Chain
from conformance.records.claim import Claim, claim
from conformance.records.defects import Contradictions, defects_of, why_not_compared
from conformance.records.footer import Footer
from conformance.records.header import Header
from conformance.records.notes import Notes
from conformance.records.outcomes import Outcomes
from conformance.records.plan import Plan
from conformance.records.result import TestResult
from conformance.records.stream import Ended, Entry, LeftOut, Planned, RecordStream, Reproduced, Started, Tried
from conformance.records.tested import remarks
from conformance.records.verdicts import Verdict


@dataclass(frozen=True)
class Record:
    """A run as it was recorded, summed up: what is kept of it does not grow with the tests but for its `plan`.

    Attributes:
        path: where it was read.
        header: what the run set out to do.
        footer: how it ended, or ``None`` when it was cut short.
        truncated: whether the last line was cut off.
        chain: of its lines.
        plan: the tests that it names.
        outcomes: what they came to.
        notes: what people read of their results.
        causes: why they went wrong.
        contradictions: what in them cannot be true.
        died_in: the test that began and never ended, when the run was cut short.
        last_started: the last test that began, or ``None``.
        duration_s: seconds that the tests took together.
    """

    path: Path
    header: Header
    footer: Footer | None
    truncated: bool
    chain: Chain
    plan: Plan
    outcomes: Outcomes
    notes: Notes
    causes: Causes
    contradictions: Contradictions
    died_in: str | None = None
    last_started: str | None = None
    duration_s: float = 0.0

    @property
    def complete(self) -> bool:
        """Whether the run came to its end and every planned test has a result."""
        return self.footer is not None and self.footer.complete

    @property
    def results(self) -> tuple[TestResult, ...]:
        """The results of the tests that ended, in order: all of them, read from the file once more."""
        results: dict[str, TestResult] = {}
        for entry in RecordStream(self.path):
            if isinstance(entry, Ended):
                results[entry.result.test] = entry.result
            elif isinstance(entry, Reproduced):
                results[entry.test] = replace(results[entry.test], reproducer=entry.script)
            elif isinstance(entry, Tried):
                results[entry.test] = results[entry.test].tried(entry.reproduction)
        return tuple(results.values())

    @property
    def started(self) -> tuple[str, ...]:
        """The names of the tests that began, in order, likewise."""
        return tuple(entry.test for entry in RecordStream(self.path) if isinstance(entry, Started))

    @property
    def planned(self) -> Mapping[str, tuple[str, ...]]:
        """The tests to run, each with the requirements that it decides, likewise."""
        return {entry.test: entry.requirements for entry in RecordStream(self.path) if isinstance(entry, Planned)}

    @property
    def not_applicable(self) -> tuple[str, ...]:
        """The tests of other dialects or later revisions, likewise."""
        return tuple(entry.test for entry in RecordStream(self.path) if isinstance(entry, LeftOut))

    @property
    def narrowed(self) -> bool:
        """Whether the operator asked for a part of the suites only; a shard is one."""
        return self.header.narrowed or bool(self.header.options.get("shard"))

    @cached_property
    def assessment(self) -> Assessment:
        """The run, judged: the source of every count that is shown; what is refuted makes no claim."""
        return self.as_told.refuted() if self.defects else self.as_told

    @cached_property
    def defects(self) -> tuple[str, ...]:
        """What refutes the record, each a sentence: see `conformance.records.defects`."""
        return defects_of(self, self.as_told)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What readers must know beside the claim, each a sentence without its stop."""
        reason = None if self.defects else why_not_compared(self.header)
        return (*remarks(self.header.environment), *(() if reason is None else (reason,)))

    @cached_property
    def as_told(self) -> Assessment:
        """The run, judged by what the record says, be it refuted or not."""
        return assess(
            self.header.requirements,
            self.outcomes,
            dialect=self.header.dialect,
            revision=self.header.revision,
            capabilities=self.header.capabilities,
            target=Target.of(self.header.options),
            narrowed=self.narrowed,
            stopped=self.footer is not None and self.footer.stopped is not None,
            ended=self.footer is not None,
        )

    @cached_property
    def claim(self) -> Claim:
        """What may be said of the implementation after this run."""
        return claim(
            self.assessment,
            implementation=self.header.implementation,
            dialect=self.header.dialect,
            revision=self.header.revision,
            ending=self._ending(),
            defects=self.defects,
        )

    def _ending(self) -> str:
        """Where a run that was cut short ended, as a sentence; empty for one that came to its end."""
        if self.complete:
            return ""
        if self.footer is not None:
            return "The run ended before every planned test had a result."
        if self.died_in is not None:
            return f"The run died in {self.died_in}."
        if self.last_started is not None:
            return f"The record ends after {self.last_started}, before the run said that it was over."
        return "The record ends before the first test."


class Watcher(Protocol):
    """Takes from the tests and the results of a record what it needs, while these pass."""

    def planned(self, test: str, ids: tuple[str, ...]) -> None:
        """Take in a test that is to run, which decides `ids`."""

    def result(self, result: TestResult, size: int) -> None:
        """Take in a result, which stands on a line of `size` bytes."""


def read_record(path: Path | str, watch: Callable[[Header], Watcher] | None = None) -> Record:
    """Read a record, whole or cut short.

    Args:
        path: of the record.
        watch: makes of the header what is to see the tests and the results, too.

    A last line that was cut off and a footer that is missing are no errors: that is what a killed run leaves.

    Raises:
        RecordError: no such file, or one that is not as ``docs/record.md`` says: one line with the file, the number
            of the line and the reason.

    The record of a run that was killed in its first test:

    >>> import tempfile
    >>> from conformance.records.writer import RecordWriter
    >>> header = Header(
    ...     implementation="vendor", dialect="cuda", revision="2.14", capabilities={}, environment={}, options={},
    ...     planned=2, not_applicable=0, narrowed=False,
    ...     requirements=(), kit_version="0.1.0", suite_digest="", started_at="2026-01-01T12:00:00+00:00",
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     writer = RecordWriter(Path(folder, "vendor.jsonl"))
    ...     writer.header(header, {"test_one": (), "test_two": ()})
    ...     writer.started("test_one")
    ...     writer.close()
    ...     record = read_record(writer.path)
    >>> record.complete, record.died_in
    (False, 'test_one')
    >>> record.claim.headline
    'Incomplete record: no claim.'
    """
    stream = RecordStream(Path(path))
    summing: _Summing | None = None
    for entry in stream:
        if isinstance(entry, Header):
            summing = _Summing(Path(path), entry, stream, None if watch is None else watch(entry))
        elif summing is not None:
            summing.take(entry)
    assert summing is not None  # the stream begins with a header, or is refused
    return summing.record()


#: Tests in flight whose names are kept; there are as many as worker processes.
_IN_FLIGHT = 1_000


class _Summing:
    """Sums one record up while it is read."""

    def __init__(self, path: Path, header: Header, stream: RecordStream, watcher: Watcher | None) -> None:
        self._path = path
        self._header = header
        self._stream = stream
        self._watcher = watcher
        self._outcomes = Outcomes()
        self._notes = Notes(header)
        self._causes = Causes(entry.seen_by(header.dialect) for entry in header.requirements)
        self._contradictions = Contradictions(header)
        self._in_flight: dict[str, None] = {}
        self._last_started: str | None = None
        self._duration_s = 0.0

    def take(self, entry: Entry) -> None:
        """Take in the next entry."""
        if isinstance(entry, Started):
            self._last_started = entry.test
            self._in_flight.pop(entry.test, None)
            self._in_flight[entry.test] = None
            if len(self._in_flight) > _IN_FLIGHT:
                del self._in_flight[next(iter(self._in_flight))]
        elif isinstance(entry, Ended):
            self._result(entry.result, entry.size)
        elif isinstance(entry, Planned):
            self._contradictions.planned(entry.test, entry.requirements)
            if self._watcher is not None:
                self._watcher.planned(entry.test, entry.requirements)
        elif isinstance(entry, LeftOut):
            self._contradictions.left_out(entry.test, is_planned=self._stream.plan.is_planned(entry.test))
        elif isinstance(entry, Reproduced):
            self._notes.script(entry.test, entry.script)
        elif isinstance(entry, Tried):
            self._notes.tried(entry.test, entry.reproduction)

    def _result(self, result: TestResult, size: int) -> None:
        self._in_flight.pop(result.test, None)
        self._outcomes.add(result.requirements, result.verdict, is_loss=result.is_loss)
        self._notes.add(result, size)
        self._causes.add(result)
        self._contradictions.result(result, self._stream.plan.decided_by(result.test))
        self._duration_s += result.duration_s
        if self._watcher is not None:
            self._watcher.result(result, size)

    def record(self) -> Record:
        """The record of all that was taken in."""
        stream = self._stream
        for ids, count in stream.plan.without_result():
            self._outcomes.add(ids, Verdict.NOT_RUN, count)
        last = next(reversed(self._in_flight), None)
        return Record(
            self._path,
            self._header,
            stream.footer,
            stream.truncated,
            stream.chain,
            stream.plan,
            self._outcomes,
            self._notes,
            self._causes,
            self._contradictions,
            died_in=last if stream.footer is None else None,
            last_started=self._last_started,
            duration_s=self._duration_s,
        )
