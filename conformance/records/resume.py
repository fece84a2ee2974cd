"""Going on with a run that was interrupted or killed, and telling whether two records are of one run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from conformance.errors import RecordError
from conformance.records.record import Header, Record, read_unfinished

#: What must be equal in two headers for their results to belong together, and what a person calls it.
_IDENTITY = {
    "implementation": "implementation",
    "dialect": "dialect",
    "revision": "revision",
    "kit_version": "version of the kit",
    "suite_digest": "digest of the suites",
}


def earlier_part(path: Path) -> tuple[Record | None, int]:
    """The record at `path` as far as it can be gone on with, and its length in bytes.

    ``None`` when the run was killed before it began.

    Raises:
        RecordError: it is no record, or broken before its end.
    """
    return read_unfinished(path)


def differences(one: Header, other: Header, *, apart_from: Collection[str] = ()) -> list[str]:
    """Why the results behind two headers do not belong together, each a phrase; empty when they do.

    Args:
        one: a header.
        other: another.
        apart_from: options that may differ.
    """
    found = [
        f"another {words}: {getattr(one, name)!r} and {getattr(other, name)!r}"
        for name, words in _IDENTITY.items()
        if getattr(one, name) != getattr(other, name)
    ]
    found += _differing("capability", one.capabilities, other.capabilities)
    found += _differing("environment", one.environment, other.environment)
    kept = [
        {name: value for name, value in header.options.items() if name not in apart_from} for header in (one, other)
    ]
    found += _differing("option", kept[0], kept[1])
    if one.requirements != other.requirements:
        found.append("other requirements")
    if set(one.not_applicable) != set(other.not_applicable):
        found.append("other tests left out as not applicable")
    if one.narrowed != other.narrowed:
        found.append("a part of the suites, and all of them")
    return found


def refuse_another_run(path: Path, earlier: Header, now: Header) -> None:
    """Refuse to go on with a record of something else.

    Raises:
        RecordError: what differs.
    """
    found = differences(earlier, now)
    if not found and set(earlier.planned) != set(now.planned):
        test = min(set(earlier.planned) ^ set(now.planned))
        found.append(f"other tests, such as {test}")
    if found:
        raise RecordError(f"--resume={path}: the record is of another run: {'; '.join(found)}")


def _differing(word: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    return [
        f"another {word} {name}: {one.get(name)!r} and {other.get(name)!r}"
        for name in sorted(set(one) | set(other))
        if one.get(name) != other.get(name)
    ]
