"""Exceptions and graph classes of the context manager suites."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.adapter import Adapter


class Interruption(BaseException):
    """An exception outside `Exception`, like KeyboardInterrupt."""


#: A call of an overridden method: its name, what it was given, by position and by name, and what was looked at then.
Call = tuple[str, tuple[Any, ...], Any]


def overriding_graph(impl: Adapter, calls: list[Call], look: Callable[[], Any] = lambda: None) -> Any:
    """A graph of a subclass that notes each call of capture_begin and capture_end, and makes it.

    Returns:
        The graph; ``None`` where the class cannot be subclassed, so that nobody can override anything.
    """
    base: Any = impl.graph_class

    def capture_begin(self: Any, *arguments: Any, **settings: Any) -> None:
        calls.append(("capture_begin", (*arguments, *settings.values()), look()))
        base.capture_begin(self, *arguments, **settings)

    def capture_end(self: Any) -> None:
        calls.append(("capture_end", (), None))
        base.capture_end(self)

    try:
        derived = type("Overriding", (base,), {"capture_begin": capture_begin, "capture_end": capture_end})
        return derived()
    except TypeError:
        return None
