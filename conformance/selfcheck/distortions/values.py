"""What can be done to a value by itself, by the kind that it is of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

Change = Callable[[Any], Any]


def changes_of(kind: str) -> Iterator[tuple[str, str, Change]]:
    """The changes that fit values of a type: name, description, and the change.

    A value that is not of the type after all, such as ``None``, stays as it is.
    """
    for name, about, types, change in _CHANGES:
        if kind in types:
            yield name, about, _only(types, change)


def rearrangements() -> Iterator[tuple[str, str, Callable[[Sequence[Any]], list[Any]]]]:
    """What can be done to a row of values that has to keep its length."""
    yield "reversed", "in reverse order", lambda row: list(reversed(row))
    yield "rotated", "rotated by one", lambda row: [*row[1:], *row[:1]]
    yield "swapped", "the first two swapped", lambda row: [*row[1::-1], *row[2:]]
    yield "shifted", "each later one the one before", lambda row: [*row[:1], *row[:-1]]
    yield "levelled", "each the first", lambda row: [*row[:1]] * len(row)


def _only(types: tuple[str, ...], change: Change) -> Change:
    return lambda value: change(value) if type(value).__name__ in types else value


def _like(value: Any, entries: list[Any]) -> Any:
    """The entries as the sequence that `value` is."""
    return type(value)(entries)


_ROWS = ("list", "tuple")

_CHANGES: tuple[tuple[str, str, tuple[str, ...], Change], ...] = (
    ("negated", "the opposite", ("bool",), lambda value: not value),
    ("more", "one more", ("int",), lambda value: value + 1),
    ("zero", "zero", ("int",), lambda _: 0),
    ("minus", "its negative", ("int",), lambda value: -value),
    ("as text", "its digits as text", ("int", "bool"), str),
    ("emptied", "emptied", ("str", "list", "dict"), lambda value: type(value)()),
    ("reversed", "in reverse order", ("str",), lambda value: value[::-1]),
    ("cut", "without its last character", ("str",), lambda value: value[:-1]),
    ("reversed", "in reverse order", _ROWS, lambda value: _like(value, list(reversed(value)))),
    ("rotated", "rotated by one", _ROWS, lambda value: _like(value, [*value[1:], *value[:1]])),
    ("swapped", "the first two swapped", _ROWS, lambda value: _like(value, [*value[1::-1], *value[2:]])),
    ("repeated", "the first one twice", _ROWS, lambda value: _like(value, [*value[:1], *value])),
    ("doubled", "all of it twice", _ROWS, lambda value: _like(value, [*value, *value])),
    ("cut", "without the last one", _ROWS, lambda value: _like(value, [*value[:-1]])),
    ("beheaded", "without the first one", _ROWS, lambda value: _like(value, [*value[1:]])),
    ("levelled", "each the first", _ROWS, lambda value: _like(value, [*value[:1]] * len(value))),
    ("as tuple", "a tuple", ("list",), tuple),
    ("as list", "a list", ("tuple",), list),
    ("as text", "its text", ("dict",), str),
)
