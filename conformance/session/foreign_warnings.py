"""Warnings of other people's code: of any class, with any text, under any filter."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator

from conformance.text import brief, said, visible_line

_KNOWN = ("builtins", "pytest")
_LIMIT = 1000


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
    with warnings.catch_warnings(record=True) as entries:
        vars(warnings)["filters"] = [
            ("default", *rest) if action == "error" else (action, *rest) for action, *rest in warnings.filters
        ]
        yield entries
