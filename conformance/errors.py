"""Refusals, each one line to a person, with the exit status that it ends a run with."""

from __future__ import annotations

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


class UsageError(ConformanceError):
    """The command line, or what it names, is wrong."""

    exit_status = ExitStatus.USAGE


class ImplementationError(UsageError):
    """What ``--impl`` names cannot be used."""


class Unavailable(ImplementationError):
    """The implementation exists, but this machine cannot run it."""


class RecordError(UsageError):
    """A record cannot be written or read."""


def one_line(error: BaseException | str, limit: int = 400) -> str:
    """`error` as one line of at most `limit` characters, led by the exception's type when it is one."""
    text = error if isinstance(error, str) else _with_type(error)
    line = visible(" ".join(text.split()))
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _with_type(error: BaseException) -> str:
    text = said(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
