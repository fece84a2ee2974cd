"""Whether a record may be resumed: compares two headers, and says why they are not of one run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from conformance.errors import RecordError
from conformance.records.record import Header

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
    reasons += _differing("environment", first.environment, second.environment)
    options = [
        {name: value for name, value in header.options.items() if name not in apart_from} for header in (first, second)
    ]
    reasons += _differing("option", options[0], options[1])
    if first.requirements != second.requirements:
        reasons.append("other requirements")
    if set(first.not_applicable) != set(second.not_applicable):
        reasons.append("other tests left out as not applicable")
    if first.narrowed != second.narrowed:
        reasons.append("a part of the suites, and all of them")
    return reasons


def refuse_another_run(path: Path, earlier: Header, now: Header) -> None:
    """Refuse to continue the record of another run.

    Raises:
        RecordError: what differs.
    """
    reasons = differences(earlier, now)
    if not reasons and set(earlier.planned) != set(now.planned):
        test = min(set(earlier.planned) ^ set(now.planned))
        reasons.append(f"other tests, such as {_shown(test)}")
    if reasons:
        raise RecordError(f"--resume={path}: the record is of another run: {'; '.join(reasons)}")


def _differing(word: str, first: Mapping[str, Any], second: Mapping[str, Any]) -> list[str]:
    return [
        f"another {word} {_shown(name)}: {first.get(name)!r} and {second.get(name)!r}"
        for name in sorted(set(first) | set(second))
        if first.get(name) != second.get(name)
    ]


def _shown(name: str) -> str:
    return name if name.isprintable() else repr(name)
