"""Handles: integers that look like addresses, one never-reused series per kind of object."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_STRIDE = 0x40
_SPACING = 0x10_0000_0000
_FIRST = 0x7F00_0000_0000
_kinds = count()


def as_int(handle: Any) -> int:
    """The integer behind a handle given as an int, as an object of the bindings or as None (zero)."""
    if handle.__class__ is int:
        return handle
    return 0 if handle is None else int(handle)


class HandleTable(Generic[T]):
    """The live objects of one kind by handle.  A handle that left is stale for good."""

    def __init__(self) -> None:
        base = _FIRST + next(_kinds) * _SPACING
        self._handles = count(base + _STRIDE, _STRIDE)
        self._live: dict[int, T] = {}

    def reserve(self) -> int:
        """A handle never given before."""
        return next(self._handles)

    def add(self, handle: int, item: T) -> None:
        self._live[handle] = item

    def find(self, handle: Any) -> T | None:
        """The live object behind `handle`; None for a stale, foreign, zero or wrong-kind one."""
        return self._live.get(handle if handle.__class__ is int else as_int(handle))

    def remove(self, handle: int) -> None:
        self._live.pop(handle, None)

    def __len__(self) -> int:
        return len(self._live)

    def __iter__(self) -> Iterator[T]:
        return iter(list(self._live.values()))
