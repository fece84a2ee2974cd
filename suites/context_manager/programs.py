"""Exceptions of the context manager suites."""

from __future__ import annotations


class Interruption(BaseException):
    """An exception outside `Exception`, like KeyboardInterrupt."""
