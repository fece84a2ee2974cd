"""Warnings of other people's code: of any class, with any text, under any filter."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import TextIO

from conformance.text import brief, said, visible_line

_KNOWN = ("builtins", "pytest")
_LIMIT = 1000
#: What the names of the kit's own files begin with.
_KIT = f"{Path(__file__).parents[1]}{os.sep}"


def portable(entry: warnings.WarningMessage) -> warnings.WarningMessage:
    """`entry` as every process can show it: of a class that all of them have, led by the name of its own."""
    category, text = entry.category, brief(said(entry.message), _LIMIT)
    if category.__module__ not in _KNOWN:
        name = visible_line(category.__name__)
        category = next(base for base in category.__mro__ if base.__module__ == "builtins")
        text = f"{name}: {text}"
    return warnings.WarningMessage(text, category, entry.filename, entry.lineno, line=entry.line)


@contextlib.contextmanager
def recorded() -> Iterator[list[warnings.WarningMessage]]:
    """Record warnings inside a ``with`` block, where none is an error: what a class may do is for its documents to say,
    and not for ``-W``.
    """
    entries: list[warnings.WarningMessage] = []

    def note(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,  # noqa: ARG001 - it is handed on to all that are in this one's place
        line: str | None = None,
    ) -> None:
        filename, lineno = _place(filename, lineno)
        entries.append(warnings.WarningMessage(message, category, filename, lineno, line=line))

    with warnings.catch_warnings():
        warnings.showwarning = note
        vars(warnings)["filters"] = [
            ("default", *rest) if action == "error" else (action, *rest) for action, *rest in warnings.filters
        ]
        yield entries


def _place(filename: str, lineno: int) -> tuple[str, int]:
    """The place of a warning that was just given: in the kit it is the caller's, such as the line of a test.

    A class that warns of its caller means no call that is only noted and passed on.
    """
    if not filename.startswith(_KIT):
        return filename, lineno
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - only a frame knows its caller
    while frame is not None and frame.f_code.co_filename != filename:
        frame = frame.f_back
    while frame is not None and frame.f_code.co_filename.startswith(_KIT):
        frame = frame.f_back
    return (filename, lineno) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
