"""The last calls made on an implementation, in a small file that outlives the process.

The file is a ring of slots in shared memory: a call costs one copy of a few bytes, and whatever ends the process, the
kernel still has them.
"""

from __future__ import annotations

import functools
import itertools
import mmap
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conformance.adapter import Adapter

SLOTS = 16
_SLOT = 96
#: The marks at a slot's end, set when the call came back.
_NOTES = {b".": "", b"!": " (raised)", b"\0": " (did not return)"}


class CallRing:
    """Where calls are written to.

    Args:
        path: of the file, which is created.
    """

    def __init__(self, path: Path) -> None:
        path.write_bytes(bytes(SLOTS * _SLOT))
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), SLOTS * _SLOT)
        self._numbers = itertools.count(1)
        #: Whether calls are noted: those of the kit between two tests would push a test's own out.
        self.on = False

    def clear(self) -> None:
        """Forget all calls."""
        self._memory[:] = bytes(SLOTS * _SLOT)

    def traced(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """`function`, which notes each of its calls as `name`."""
        memory, numbers = self._memory, self._numbers
        label = name.encode("ascii", "replace")[: _SLOT - 24]

        @functools.wraps(function)
        def tracer(*arguments: Any, **settings: Any) -> Any:
            if not self.on:
                return function(*arguments, **settings)
            number = next(numbers)
            start = number % SLOTS * _SLOT
            text = b"%d %b" % (number, label)
            memory[start : start + _SLOT] = text.ljust(_SLOT, b"\0")
            mark = b"!"
            try:
                result = function(*arguments, **settings)
                mark = b"."
                return result
            finally:
                if memory[start : start + len(text)] == text:
                    memory[start + _SLOT - 1 : start + _SLOT] = mark

        return tracer


def read_calls(content: bytes) -> list[str]:
    """The calls in a ring's file, oldest first; those that did not return say so."""
    calls = []
    for start in range(0, len(content), _SLOT):
        slot = content[start : start + _SLOT]
        number, _, name = slot[:-1].rstrip(b"\0").partition(b" ")
        if number.isdigit():
            calls.append((int(number), name.decode("ascii", "replace") + _NOTES.get(slot[-1:], "")))
    return [text for _, text in sorted(calls)]


def trace(adapter: Adapter, ring: CallRing) -> None:
    """Note the calls of `adapter` and of its graph class in `ring`."""
    names = [name for name in dir(type(adapter)) if not name.startswith("_")]
    for name in names:
        method = getattr(adapter, name) if isinstance(getattr(type(adapter), name), FunctionType) else None
        if method is not None:
            setattr(adapter, name, ring.traced(f"adapter.{name}", method))
    cls = adapter.graph_class
    for name in dir(cls):
        # A method may come from a base; the class's own table then gets one that calls it.
        method = getattr(cls, name, None)
        if name.startswith("_") or not isinstance(method, FunctionType):
            continue
        try:
            setattr(cls, name, ring.traced(f"{cls.__name__}.{name}", method))
        except TypeError:  # a class that cannot be changed is traced through the adapter only
            return
