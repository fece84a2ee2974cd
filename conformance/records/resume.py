"""What is there of a run that is gone on with, and whether another may do so: why two are not of one run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.errors import RecordError
from conformance.records.header import Header
from conformance.records.plan import Plan
from conformance.records.result import TestResult
from conformance.records.stream import Attempted, Ended, Planned, RecordStream
from conformance.records.tested import PASSING

#: What must be equal in two headers for their results to belong together, and what a person calls it.
_IDENTITY = {
    "implementation": "implementation",
    "dialect": "dialect",
    "revision": "revision",
    "kit_version": "version of the kit",
    "suite_digest": "digest of the suites",
}


def differences(first: Header, second: Header, *, apart_from: Collection[str] = ()) -> list[str]:
    """Why the results behind two headers do not belong together, each a phrase; empty when they do.

    Args:
        first: a header.
        second: another.
        apart_from: options that may differ.
    """
    reasons = [
        f"another {words}: {getattr(first, name)!r} and {getattr(second, name)!r}"
        for name, words in _IDENTITY.items()
        if getattr(first, name) != getattr(second, name)
    ]
    reasons += _differing("capability", first.capabilities, second.capabilities)
    environments = [
        {name: value for name, value in header.environment.items() if name not in PASSING} for header in (first, second)
    ]
    reasons += _differing("environment", *environments)
    options = [
        {name: value for name, value in header.options.items() if name not in apart_from} for header in (first, second)
    ]
    reasons += _differing("option", options[0], options[1])
    if first.requirements != second.requirements:
        reasons.append("other requirements")
    if first.waivers != second.waivers:
        reasons.append("other waivers")
    if first.narrowed != second.narrowed:
        reasons.append("a part of the suites, and all of them")
    return reasons


@dataclass(frozen=True)
class Beginning:
    """What is there of a run that is gone on with.

    Attributes:
        header: of its record.
        plan: as far as it was written, and all of it once a test has begun.
        size: the bytes of its record that are kept.
        digest: of the last line of these.
        is_empty: whether it has to be begun again, because it died while its plan was written.
    """

    header: Header
    plan: Plan
    size: int
    digest: str
    is_empty: bool


def read_beginning(
    path: Path, take: Callable[[TestResult], None], take_run: Callable[[TestResult], None]
) -> Beginning | None:
    """Read the record at `path` but for its footer and a last line without an end.

    Args:
        path: of the record.
        take: is given each result.
        take_run: is given what came of each run after which a test was to run again.

    Returns:
        What is there; ``None`` when not even the header was written.

    Raises:
        RecordError: as `conformance.records.record.read_record`, and when its lines are not those that were written.
    """
    stream, header = RecordStream(path, unfinished=True), None
    for entry in stream:
        if isinstance(entry, Header):
            header = entry
        elif isinstance(entry, Ended):
            take(entry.result)
        elif isinstance(entry, Attempted):
            take_run(entry.result)
    if header is None:
        return None
    if stream.chain.broken is not None:
        raise RecordError(f"{path} cannot be gone on with: {stream.chain.broken}")
    return Beginning(header, stream.plan, stream.size, stream.digest, is_empty=not stream.plan_is_whole)


def refuse_another_run(path: Path, earlier: Beginning, header: Header, planned: Collection[str], now: Plan) -> None:
    """Refuse to continue the record of another run.

    Args:
        path: of the record.
        earlier: what is there of it.
        header: of the run that would go on with it.
        planned: the tests of that run.
        now: its plan.

    Raises:
        RecordError: what differs.
    """
    reasons = differences(earlier.header, header)
    if not reasons and not earlier.is_empty:
        if not earlier.plan.leaves_out_as(now):
            reasons.append("other tests left out as not applicable")
        test = next((test for test in planned if not earlier.plan.is_planned(test)), None)
        if test is None and earlier.plan.planned > now.planned:
            test = next(test for test in _planned_at(path) if not now.is_planned(test))
        if test is not None:
            reasons.append(f"other tests, such as {_shown(test)}")
    if reasons:
        raise RecordError(f"--resume={path}: the record is of another run: {'; '.join(reasons)}")


def _planned_at(path: Path) -> Iterator[str]:
    return (entry.test for entry in RecordStream(path, unfinished=True) if isinstance(entry, Planned))


def _differing(word: str, first: Mapping[str, Any], second: Mapping[str, Any]) -> list[str]:
    return [
        f"another {word} {_shown(name)}: {first.get(name)!r} and {second.get(name)!r}"
        for name in sorted(set(first) | set(second))
        if first.get(name) != second.get(name)
    ]


def _shown(name: str) -> str:
    return name if name.isprintable() else repr(name)
