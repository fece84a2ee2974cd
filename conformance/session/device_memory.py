"""Whether the device had memory for a test, and whether it is the implementation that held it."""

from __future__ import annotations

import contextlib
import functools
import gc
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from conformance.errors import Unsupported, is_out_of_memory, one_line

if TYPE_CHECKING:
    from conformance.adapter import Adapter

#: Bytes that a process may hold after a test when the device has no more.  The tests need a few MiB each, so whoever
#: holds more has not given back what earlier ones needed.
OWN_LIMIT = 1 << 30

#: Members of an adapter that take memory of the device.  A test may take what they raise for a refusal.
_TAKERS = ("tensor", "full", "pinned", "read", "new_graph")


class DeviceMemory:
    """What one implementation's process gets of its device's memory, and holds of it.

    Attributes:
        wanted: what was raised when the adapter got none since `begin`, as one line; ``None`` when it got all.
    """

    def __init__(self, adapter: Adapter) -> None:
        self.wanted: str | None = None
        self._adapter = adapter
        self._at_first: int | None = None
        for name in _TAKERS:
            setattr(adapter, name, self._watched(getattr(adapter, name)))

    def begin(self) -> None:
        """A test begins."""
        self.wanted = None
        if self._at_first is None:
            self._at_first = self._held()

    def release(self) -> None:
        """Give back what can be."""
        gc.collect()
        for give_back in (self._adapter.release_library_memory, self._adapter.empty_cache):
            with contextlib.suppress(Exception, Unsupported):  # it may have no means
                give_back()

    def own_excess(self) -> int | None:
        """The bytes that this process holds since its first test; ``None`` when they are no reason for a shortage.

        What the adapter cannot tell is none.
        """
        self.release()
        now = self._held()
        if now is None or self._at_first is None or now - self._at_first <= OWN_LIMIT:
            return None
        return now - self._at_first

    def _held(self) -> int | None:
        """What tensors and pools occupy, as far as the adapter can say; what a driver holds besides is not in it."""
        if self._adapter.capabilities.get("memory_stats") is False:
            return None
        numbers = []
        for ask in (self._adapter.memory_reserved, self._adapter.memory_allocated):
            with contextlib.suppress(Exception, Unsupported):  # the suites judge the call
                numbers.append(ask())
        return max((number for number in numbers if isinstance(number, int)), default=None)

    def _watched(self, member: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(member)
        def watched(*arguments: Any, **settings: Any) -> Any:
            try:
                return member(*arguments, **settings)
            except Exception as error:
                if is_out_of_memory(error):
                    self.wanted = one_line(error)
                raise

        return watched
