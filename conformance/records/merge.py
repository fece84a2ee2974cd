"""Joins the records of shards into the record of the run that they are parts of."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from conformance.errors import ExitStatus, RecordError, UsageError, WriteError
from conformance.files import moved_into_place
from conformance.records.assessment import as_json
from conformance.records.chain import Chain
from conformance.records.footer import Footer
from conformance.records.header import Header
from conformance.records.lines import lines_of, opened
from conformance.records.outcomes import Outcomes
from conformance.records.record import Record, Watcher, read_record
from conformance.records.result import TestResult
from conformance.records.resume import differences
from conformance.records.shards import Shard, home_of
from conformance.records.stream import Planned, RecordStream
from conformance.records.tested import PASSING
from conformance.records.writer import RecordWriter

if TYPE_CHECKING:
    from typing_extensions import Self

#: So many tests that are missing or of another shard are named, for each record; reasons that a refusal tells.
_NAMED = 20
_SHOWN = 5


class Waivers(Watcher, Protocol):
    """What waivers are checked against: sees the tests and the results of a record."""

    def take_in(self, other: Self) -> None:
        """Take in what `other` has seen, of another shard."""

    def problems(self) -> Sequence[str]:
        """Why waivers fail the run, which a shard by itself cannot know."""


def merge(
    paths: Sequence[Path],
    output: Path,
    waivers: Callable[[Header], Waivers] | None = None,
    refused: list[str] | None = None,
) -> Record:
    """Join the records at `paths` into one at `output`.

    Each is read twice: once to be checked, so that nothing is written of what is refused, and once to be copied.  A
    record that lacks a shard, because that was left out, has no footer: it is incomplete and makes no claim.

    Args:
        paths: of the records.
        output: where the one goes.
        waivers: makes what checks the waivers of a run from its header.
        refused: takes the reason for each record that is left out because it cannot be one of them; without it, such
            a record ends the merge.

    Raises:
        RecordError: a record cannot be read or written, or they do not belong together.
        UsageError: `output` is one of them, or there are none.
        WriteError: `output` cannot be written to its end; it is as it was.
    """
    if not paths:
        raise UsageError("merge needs the records of all shards")
    if output.resolve() in {path.resolve() for path in paths}:
        raise UsageError(f"--output={output} is one of the records to merge")
    shards = _read(paths, waivers, refused)
    reasons = why_not(shards, lacking=bool(refused))
    if reasons:
        raise RecordError(f"these records do not make one run: {_first(reasons)}")
    problems = _waiver_problems([each.waivers for each in shards if each.waivers is not None])
    records = sorted((each.record for each in shards), key=lambda record: _shard(record).index)
    return _write(records, output, problems)


def _first(reasons: Sequence[str]) -> str:
    """The first of `reasons`, and how many there are: a refusal is one line."""
    more = len(reasons) - _SHOWN
    return "; ".join([*reasons[:_SHOWN], *([f"and {more} more"] if more > 0 else [])])


def _waiver_problems(waivers: Sequence[Waivers]) -> tuple[str, ...]:
    if not waivers:
        return ()
    first, *others = waivers
    for each in others:
        first.take_in(each)
    return tuple(first.problems())


class _Strays:
    """Watches one record for tests of other shards, and for what waivers are checked against.

    Attributes:
        waivers: what checks the latter.
        reasons: of the first strays, why they are.
        more: how many others there are.
    """

    def __init__(self, header: Header, waivers: Waivers | None) -> None:
        self._shard = _shard_of(header)
        self.waivers = waivers
        self.reasons: list[str] = []
        self.more = 0

    def planned(self, test: str, ids: tuple[str, ...]) -> None:
        if self.waivers is not None:
            self.waivers.planned(test, ids)
        if self._shard is None or self._shard.holds(test):
            return
        if len(self.reasons) < _NAMED:
            self.reasons.append(f"{test} belongs to shard {home_of(test, self._shard.count)}/{self._shard.count}")
        else:
            self.more += 1

    def result(self, result: TestResult, size: int) -> None:
        if self.waivers is not None:
            self.waivers.result(result, size)


@dataclass(frozen=True)
class _Part:
    """One record to merge, and what was seen in it."""

    record: Record
    strays: _Strays

    @property
    def waivers(self) -> Waivers | None:
        return self.strays.waivers


def _read(paths: Sequence[Path], waivers: Callable[[Header], Waivers] | None, refused: list[str] | None) -> list[_Part]:
    """The records at `paths`; without those that are no shards that can be merged, if `refused` takes the reasons."""
    if refused is None:
        return [_part(path, waivers) for path in paths]
    parts = []
    for path in paths:
        try:
            part = _part(path, waivers)
            defects = _defects(part)
        except RecordError as error:
            defects = [str(error)]
        if defects:
            more = f" (and {len(defects) - 1} more)" if len(defects) > 1 else ""
            refused.append(f"{defects[0]}{more}")
        else:
            parts.append(part)
    if not parts:
        raise RecordError("there is nothing to merge: each record was refused")
    return parts


def _part(path: Path, waivers: Callable[[Header], Waivers] | None) -> _Part:
    strays: list[_Strays] = []

    def watch(header: Header) -> _Strays:
        try:
            strays.append(_Strays(header, None if waivers is None else waivers(_without_shard(header))))
        except RecordError as error:
            raise RecordError(f"{path}: {error}") from None
        return strays[0]

    record = read_record(path, watch)
    return _Part(record, strays[0])


def why_not(parts: Sequence[_Part], *, lacking: bool = False) -> list[str]:
    """Why records are not the shards of one run, each reason naming its record; empty when they are.

    Args:
        parts: to be merged.
        lacking: whether shards may be missing.
    """
    reasons = [reason for part in parts for reason in _defects(part)]
    if reasons:
        return reasons
    records = [part.record for part in parts]
    first = records[0]
    for record in records[1:]:
        found = differences(first.header, record.header, apart_from={"shard"})
        if not first.plan.leaves_out_as(record.plan):
            found.append("other tests left out as not applicable")
        reasons += [f"{record.path}: {difference} (against {first.path})" for difference in found]
    return reasons or _copies(records) or ([] if lacking else _missing(records))


def _defects(part: _Part) -> list[str]:
    """What is wrong with one record, by itself."""
    record, strays = part.record, part.strays
    if "shard" not in record.header.options:
        return [f"{record.path}: it is not of a shard"]
    if record.truncated or record.footer is None:
        return [f"{record.path}: it has no footer: the run was cut short; go on with --resume={record.path}"]
    if record.footer.stopped is not None:
        return [f"{record.path}: the run was stopped: {record.footer.stopped}"]
    _shard(record)
    defects = [f"no result for {test}" for test in _without_result(record)]
    defects += strays.reasons
    if strays.more:
        defects.append(f"and {strays.more:,} more that belong to others")
    return [f"{record.path}: {defect}" for defect in (*defects, *record.defects)]


def _without_result(record: Record) -> list[str]:
    """The first planned tests without a result, and how many there are beside them."""
    missing = record.plan.planned - record.plan.ended
    if not missing:
        return []
    planned = (entry.test for entry in RecordStream(record.path) if isinstance(entry, Planned))
    names = list(islice((test for test in planned if not record.plan.has_ended(test)), _NAMED))
    return [*names, f"{missing - len(names):,} more"] if missing > len(names) else names


def _copies(records: Sequence[Record]) -> list[str]:
    """Shards that are there twice, or are of several divisions."""
    shards = [_shard(record) for record in records]
    count = shards[0].count
    reasons = [
        f"{record.path}: shard {shard} is of another division than {records[0].path} with {shards[0]}"
        for record, shard in zip(records, shards, strict=True)
        if shard.count != count
    ]
    if reasons:
        return reasons
    counts = Counter(shard.index for shard in shards)
    for index, copies in sorted(counts.items()):
        if copies > 1:
            paths = [str(record.path) for record, shard in zip(records, shards, strict=True) if shard.index == index]
            reasons.append(f"shard {index}/{count} is there {copies} times: {', '.join(paths)}")
    return reasons


def _missing(records: Sequence[Record]) -> list[str]:
    """Shards that are not there."""
    shards = [_shard(record) for record in records]
    there, count = {shard.index for shard in shards}, shards[0].count
    return [f"shard {index}/{count} is missing" for index in range(1, count + 1) if index not in there]


def _shard(record: Record) -> Shard:
    shard = _shard_of(record.header)
    if shard is None:
        raise RecordError(f"{record.path}: --shard={record.header.options['shard']}: it is of none")
    return shard


def _shard_of(header: Header) -> Shard | None:
    """The shard that a record is of, which its reader has checked."""
    text = header.options.get("shard")
    return None if text is None else Shard.parse(str(text))


def _write(records: Sequence[Record], output: Path, problems: tuple[str, ...]) -> Record:
    merged = _merged(records, output, problems)
    if merged.footer is not None and merged.defects:
        raise RecordError(f"the run that these records make would be refuted: {_first(merged.defects)}")
    with moved_into_place(output) as [part], contextlib.closing(RecordWriter(part)) as writer:
        try:
            writer.header(merged.header, {})
            _copy(records, writer, ("plan",))
            _copy(records, writer, ("started", "attempt", "result", "reproducer", "reproduction"))
            if merged.footer is not None:
                writer.footer(merged.footer)
        except WriteError as error:
            raise error.__cause__ or error from None  # the disk's own words: nobody is to look for the part
    return merged


def _copy(records: Sequence[Record], writer: RecordWriter, kinds: Collection[str]) -> None:
    """Copy the lines of these kinds, as they stand there.

    Raises:
        RecordError: a record is no longer the one that was read.
    """
    for number, record in enumerate(records):
        chain = Chain()
        with opened(record.path, "record") as stream:
            for line in lines_of(record.path, stream):
                chain.follow(line.number, line.text)
                kind = str(line.values.get("kind"))
                # Each shard names all the tests that are left out.
                if kind in kinds and not (number and "not_applicable" in line.values):
                    writer.copy(line.text)
        if (chain.digest, chain.broken) != (record.chain.digest, None):
            raise RecordError(f"{record.path} was changed while it was read")


def _merged(records: Sequence[Record], output: Path, problems: tuple[str, ...]) -> Record:
    """The record of the run that `records` are the parts of; each was seen to be whole, so it is if none lacks."""
    first = records[0]
    contradictions = first.contradictions.joined([record.contradictions for record in records[1:]])
    footer = Footer(
        counts={},
        verdict="",
        complete=True,
        exit_status=0,
        duration_s=round(sum(record.footer.duration_s for record in records if record.footer is not None), 3),
        musts={},
        advice={},
    )
    run = replace(
        first,
        path=output,
        header=_header(records),
        footer=footer,
        outcomes=Outcomes.joined(record.outcomes for record in records),
        contradictions=contradictions,
    )
    if _missing(records):
        return replace(run, footer=None)
    # Its counts and its verdict come from judging it.
    assessment = run.as_told
    status = assessment.exit_status
    return replace(
        run,
        footer=replace(
            footer,
            counts=as_json(assessment.tests),
            verdict=assessment.verdict.value,
            exit_status=int(ExitStatus.NOT_CONFORMING if problems and status is ExitStatus.CONFORMING else status),
            waiver_problems=problems,
            musts=as_json(assessment.musts),
            advice=as_json(assessment.advice),
        ),
    )


def _header(records: Sequence[Record]) -> Header:
    header = _without_shard(records[0].header)
    passing = {
        name: value
        for record in records
        for name, value in record.header.environment.items()
        if name in PASSING  # what holds of a part of the run is said of the whole
    }
    return replace(
        header,
        environment={**header.environment, **passing},
        planned=sum(record.header.planned for record in records),
        started_at=min(record.header.started_at for record in records),
    )


def _without_shard(header: Header) -> Header:
    return replace(header, options={name: value for name, value in header.options.items() if name != "shard"})
