"""Ends a session that the kit cannot carry out, with one line to a person."""

from __future__ import annotations

from typing import NoReturn

import pytest
from _pytest import outcomes

from conformance.errors import ConformanceError, UsageError
from conformance.text import visible_lines


class Exit(outcomes.Exit):
    """What ends a session, as ``pytest.exit`` raises it."""

    __module__ = "builtins"  # pytest prints an exception's module in front of the line, which says nothing to a person


def end_session(message: str, exit_status: int) -> NoReturn:
    """End the session; like ``pytest.exit``, with a shorter line."""
    raise Exit(message, returncode=exit_status)


def refuse(error: ConformanceError) -> NoReturn:
    """End the session with what `error` says, and its exit status."""
    line = f"conformance: {visible_lines(error)}"
    if isinstance(error, UsageError):
        raise pytest.UsageError(line) from None
    end_session(line, error.exit_status)
