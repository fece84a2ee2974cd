"""The allocator's lock."""

from __future__ import annotations

import threading
from threading import get_ident


class Gate:
    """A lock that knows its holder, and that one can try without waiting.

    The garbage collector may run a finalizer on the thread that holds the lock, between any two steps of a change.  A
    re-entrant lock would let that finalizer see (and alter) lists that are half updated; a plain one would make it wait
    for itself.  This one lets it know.
    """

    __slots__ = ("_lock", "_owner")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner = 0

    def __enter__(self) -> None:
        if not self._lock.acquire(False):
            self._wait()
        self._owner = get_ident()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._owner = 0
        self._lock.release()

    def try_enter(self) -> bool:
        """Enter without waiting; False when any thread, this one included, is inside."""
        if self._lock.acquire(False):
            self._owner = get_ident()
            return True
        return False

    def leave(self) -> None:
        """Undo a `try_enter` that returned True."""
        self._owner = 0
        self._lock.release()

    def _wait(self) -> None:
        if self._owner == get_ident():
            raise RuntimeError(
                "the allocator was called again by a finalizer that ran inside one of its calls: "
                "a __del__ method may free memory and release pools, but not allocate, empty the "
                "cache or read statistics",
            )
        self._lock.acquire()
