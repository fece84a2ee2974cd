"""Refusals, each one line to a person, with the exit status that it ends a run with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum

from conformance.text import said, visible


class ExitStatus(IntEnum):
    """What a run's exit status says."""

    CONFORMING = 0
    NOT_CONFORMING = 1
    INTERRUPTED = 2
    KIT_FAILED = 3
    USAGE = 4


class ConformanceError(Exception):
    """A refusal whose message a person reads instead of a traceback."""

    exit_status = ExitStatus.KIT_FAILED


class KitError(ConformanceError):
    """The kit itself is broken: a requirement file, or a suite that does not fit the requirements."""


class RequirementError(KitError):
    """A requirement file or a requirement's use is malformed; the message names the file and the entry."""


class HarnessError(KitError):
    """Raised by a suite or a fixture that cannot do its work: the test's verdict is `error`, never `fail`."""


class Unsupported(BaseException):
    """Raised where a device or an adapter has no means to try what a test asks: the verdict is `unsupported`.

    No `Exception`, as pytest's skips are none: what a test expects of the implementation must not take it in.
    """


class NotDerived(NotImplementedError):
    """Raised where an adapter has no member that a test needs, and torch gives none: the verdict is `error`.

    Args:
        member: of the adapter, which is missing.
        capability: that could be declared absent instead, if there is one.
    """

    def __init__(self, member: str, capability: str | None = None) -> None:
        self.member = member
        self.capability = capability
        other = "" if capability is None else f", or declare the capability {capability!r} False"
        super().__init__(f"write {member}(){other}: neither the device module nor torch's generic API has it")


class WriteError(ConformanceError):
    """A file could be begun and not be written to its end, as on a full disk."""


class UsageError(ConformanceError):
    """The command line, or what it names, is wrong."""

    exit_status = ExitStatus.USAGE


class ImplementationError(UsageError):
    """What ``--impl`` names cannot be used."""


class Unavailable(ImplementationError):
    """The implementation exists, but this machine cannot run it."""


class RecordError(UsageError):
    """A record cannot be written or read."""


#: How torch, the runtimes and the drivers of several makers say it, in messages and in the names of their codes.
_NO_MEMORY = re.compile(r"out[ _]?of[ _]?((device|host)[ _]?)?memory|errormemoryallocation", re.IGNORECASE)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether the device, which others may use too, had no memory left.

    >>> is_out_of_memory(RuntimeError("CUDA error: out of memory"))
    True
    >>> is_out_of_memory(RuntimeError("cudaMalloc: <cudaError_t.cudaErrorMemoryAllocation: 2>"))
    True
    >>> is_out_of_memory(MemoryError())  # of the host, and of this process
    False
    """
    if type(error).__name__ == "OutOfMemoryError":
        return True
    # What a rejection expected may be about memory; what it saw counts.
    return _NO_MEMORY.search(said(getattr(error, "seen", error))) is not None


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """`error`, and what led to it, one after the other; those of a group stand behind it."""
    ids: set[int] = set()
    rest = [] if error is None else [error]
    while rest:
        current = rest.pop(0)
        if id(current) in ids:
            continue
        ids.add(id(current))
        yield current
        rest += getattr(current, "exceptions", ())
        cause = current.__cause__ or current.__context__
        rest += [] if cause is None else [cause]


def one_line(error: BaseException | str, limit: int = 400) -> str:
    """`error` as one line of at most `limit` characters, led by the exception's type when it is one."""
    text = error if isinstance(error, str) else _with_type(error)
    line = visible(" ".join(text.split()))
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _with_type(error: BaseException) -> str:
    text = said(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
