"""What the stand-ins' classes are made of: the reference's graphs, behind the methods that a vendor's class lists."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import TracebackType
from typing import Any

from reference_impl.devices.chosen import device
from reference_impl.devices.software.streams import Event, Stream
from reference_impl.graphs.context import CaptureContext
from reference_impl.graphs.core import GraphCore
from reference_impl.runtime.streams import find_event


class Shell:
    """A class that has the methods of its body and no others.

    Args:
        inner: the reference's graph that does the work.
    """

    def __init__(self, inner: GraphCore) -> None:
        self._inner: Any = inner


def same(method: Callable[..., Any]) -> Any:
    """`method` of the reference's class, as a method of a `Shell`: its signature and its behaviour."""

    @functools.wraps(method)
    def call(graph: Shell, *arguments: Any, **named: Any) -> Any:
        return method(graph._inner, *arguments, **named)

    return call


class StaysOnItsStream(CaptureContext):
    """A capture's context that leaves its stream current when ``capture_end`` raises."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._target.capture_end()
        device().set_stream(self._outer)


def pools_of(graph: Shell) -> list[Any]:
    """The pools that `graph` has, whether or not it is still capturing."""
    return list(graph._inner._holds.pools)


def keep(pools: list[Any]) -> None:
    """Plant a leak: these pools are never released."""
    for pool in pools:
        device().retain_pool(pool)


def refuse_forks() -> None:
    """Plant a limit: a capture does not follow events to other streams."""
    wait = Event.wait

    def refuse(event: Event, stream: Stream | None = None) -> None:
        target = (stream or device().current_stream()).queue
        captured = find_event(event.cuda_event).captured
        if captured is not None and captured[0] is not target.capture and not captured[0].ended:
            raise RuntimeError("nodes of a graph cannot depend on events from outside of it")
        wait(event, stream)

    Event.wait = refuse  # type: ignore[method-assign, assignment]


class OnAnyStream(GraphCore):
    """A graph that captures on the default stream as well."""

    def _require_capturable(self, call: str, stream: Any) -> None:
        if stream.is_capturing():
            raise self._refuse(call, "and another capture is underway on the current stream: end that one first")
