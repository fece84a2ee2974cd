"""Joins the records of shards into the record of the run that they are parts of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from conformance.errors import ExitStatus, RecordError, UsageError, WriteError, one_line
from conformance.records.assessment import as_json
from conformance.records.record import Footer, Header, Record, RecordWriter, read_record
from conformance.records.resume import differences
from conformance.records.shards import Shard, home_of

#: Reasons that a refusal tells.
_SHOWN = 5


def merge(
    paths: Sequence[Path], output: Path, waiver_problems: Callable[[Record], Sequence[str]] = lambda _: ()
) -> Record:
    """Join the records at `paths` into one at `output`.

    Args:
        paths: of the records.
        output: where the one goes.
        waiver_problems: says why waivers fail a run, which a shard by itself cannot know.

    Raises:
        RecordError: a record cannot be read or written, or they do not belong together.
        UsageError: `output` is one of them, or there are none.
        WriteError: `output` cannot be written to its end; it is as it was.
    """
    if not paths:
        raise UsageError("merge needs the records of all shards")
    if output.resolve() in {path.resolve() for path in paths}:
        raise UsageError(f"--output={output} is one of the records to merge")
    records = [read_record(path) for path in paths]
    reasons = why_not(records)
    if reasons:
        raise RecordError(f"these records do not make one run: {_first(reasons)}")
    return _write(sorted(records, key=lambda record: _shard(record).index), output, waiver_problems)


def _first(reasons: Sequence[str]) -> str:
    """The first of `reasons`, and how many there are: a refusal is one line."""
    more = len(reasons) - _SHOWN
    return "; ".join([*reasons[:_SHOWN], *([f"and {more} more"] if more > 0 else [])])


def why_not(records: Sequence[Record]) -> list[str]:
    """Why `records` are not the shards of one run, each reason naming its record; empty when they are."""
    reasons = [reason for record in records for reason in _defects(record)]
    if reasons:
        return reasons
    first = records[0]
    for record in records[1:]:
        reasons += [
            f"{record.path}: {difference} (against {first.path})"
            for difference in differences(first.header, record.header, apart_from={"shard"})
        ]
    return reasons or _holes(records)


def _defects(record: Record) -> list[str]:
    """What is wrong with one record, by itself."""
    if "shard" not in record.header.options:
        return [f"{record.path}: it is not of a shard"]
    if record.truncated or record.footer is None:
        return [f"{record.path}: it has no footer: the run was cut short; go on with --resume={record.path}"]
    if record.footer.stopped is not None:
        return [f"{record.path}: the run was stopped: {record.footer.stopped}"]
    shard = _shard(record)
    result_tests = {result.test for result in record.results}
    defects = [f"{record.path}: no result for {test}" for test in sorted(set(record.header.planned) - result_tests)]
    unplanned = sorted(result_tests - set(record.header.planned))
    defects += [f"{record.path}: a result for {test}, which was not planned" for test in unplanned]
    defects += [
        f"{record.path}: {test} belongs to shard {home_of(test, shard.count)}/{shard.count}"
        for test in record.header.planned
        if not shard.holds(test)
    ]
    return defects + [f"{record.path}: {defect}" for defect in record.defects]


def _holes(records: Sequence[Record]) -> list[str]:
    """Shards and tests that are there twice, and shards that are not there."""
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
    return reasons + [f"shard {index}/{count} is missing" for index in range(1, count + 1) if index not in counts]


def _shard(record: Record) -> Shard:
    try:
        return Shard.parse(str(record.header.options["shard"]))
    except UsageError as error:
        raise RecordError(f"{record.path}: {error}") from None


def _write(records: Sequence[Record], output: Path, waiver_problems: Callable[[Record], Sequence[str]]) -> Record:
    header = _header(records)
    merged = _merged(header, records, output, waiver_problems)
    assert merged.footer is not None
    if merged.defects:
        raise RecordError(f"the run that these records make would be refuted: {_first(merged.defects)}")
    # Written beside and moved there when it is whole, so that nobody reads a part of it or loses an earlier one.
    part = output.with_name(f"{output.name}.part")
    writer = RecordWriter(part)
    try:
        writer.header(header)
        for record in records:
            for result in record.results:
                writer.started(result.test)
                writer.result(result)
        writer.footer(merged.footer)
        part.replace(output)
    except (OSError, WriteError) as error:
        part.unlink(missing_ok=True)
        raise WriteError(f"{output} cannot be written: {one_line(str(error))}") from None
    finally:
        writer.close()
    return merged


def _merged(
    header: Header, records: Sequence[Record], output: Path, waiver_problems: Callable[[Record], Sequence[str]]
) -> Record:
    results = tuple(result for record in records for result in record.results)
    # Each shard was seen to be whole, so the run is; its counts and its verdict come from judging it.
    footer = Footer(
        counts={},
        verdict="",
        complete=True,
        exit_status=0,
        duration_s=round(sum(record.footer.duration_s for record in records if record.footer is not None), 3),
        musts={},
        advice={},
    )
    run = Record(output, header, results, tuple(result.test for result in results), footer, truncated=False)
    assessment = run.as_told
    problems = tuple(waiver_problems(run))
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
    first = records[0].header
    return replace(
        first,
        options={name: value for name, value in first.options.items() if name != "shard"},
        planned={test: ids for record in records for test, ids in record.header.planned.items()},
        started_at=min(record.header.started_at for record in records),
    )
