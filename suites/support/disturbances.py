"""Calls that disturb a capture, and captures that record how they went."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from conformance.adapter import Adapter
from suites.support.outcomes import caught, in_words
from suites.support.programs import SIZE


def host_read(impl: Adapter) -> Callable[[], Any]:
    """Read a value of the device on the host."""
    tensor = impl.full(SIZE, 6.0)
    element = tensor[3]
    return element.item


def device_synchronize(impl: Adapter) -> Callable[[], Any]:
    """Wait for the whole device."""
    return impl.synchronize


@dataclass(frozen=True)
class Attempt:
    """How a capture went.

    Attributes:
        graph: the graph that captured.
        stream: the stream that it captured on.
        refusal: what the disturbing call raised inside the capture.
        ending: what capture_end raised.
        left_capturing: whether the stream was still capturing after capture_end (it was then cleaned up).
    """

    graph: Any
    stream: Any
    refusal: Exception | None
    ending: Exception | None
    left_capturing: bool

    def __str__(self) -> str:
        return f"the call inside the capture: {in_words(self.refusal)}; capture_end: {in_words(self.ending)}"


def attempt(
    impl: Adapter,
    body: Callable[[], Any],
    disturbance: Callable[[], Any],
    *,
    graph: Any = None,
    keep_graph: bool | None = None,
    stream: Any = None,
    **settings: Any,
) -> Attempt:
    """Capture `body`, then make the disturbing call, then end the capture; record the outcome of each.

    Args:
        impl: the implementation.
        body: the work.
        disturbance: the call.
        graph: captures; a new one when left out.
        keep_graph: of the new one.
        stream: captures; a new one when left out.
        settings: of the new graph's captures, for `Adapter.graph_for`; or for `Adapter.capture_begin` of `graph`.
    """
    if graph is None:
        graph, settings = impl.graph_for(keep_graph, **settings)
    ending: Exception | None = None
    before = impl.current_stream()
    side = impl.new_stream() if stream is None else stream
    side.wait_stream(before)
    with impl.stream(side):
        impl.capture_begin(graph, **settings)
        try:
            body()
            refusal = caught(disturbance)
            ending = caught(graph.capture_end)
        finally:
            left_capturing = impl.is_current_stream_capturing()
            if left_capturing:
                impl.abort_capture(graph)
    # A stream that still captures cannot be waited for; the test reports what it left.
    stuck = caught(lambda: before.wait_stream(side))
    if stuck is not None and not left_capturing:
        raise stuck
    return Attempt(graph, side, refusal, ending, left_capturing)
