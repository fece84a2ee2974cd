"""A capture and a replay, small enough to be nearly free: what every test does in one way or another."""

from __future__ import annotations

import traceback
from typing import Any

from conformance.adapter import Adapter

#: What the replay gives.
EXPECTED = [4.0] * 7


def replay(adapter: Adapter) -> Any:
    """Capture an addition in place, so that the graph's pool is empty; replay it; return the values as a list.

    Raises:
        NotImplementedError: the adapter has no means to.
        Unsupported: the device has no stream left for it.
    """
    x, graph, before, side = (
        adapter.full(7, 3.0),
        adapter.new_graph(),
        adapter.current_stream(),
        adapter.capture_stream(),
    )
    side.wait_stream(before)
    with adapter.stream(side):
        adapter.capture_begin(graph)
        try:
            x.add_(1.0)
        except Exception:
            adapter.abort_capture(graph)
            raise
        graph.capture_end()
        graph.replay()
    before.wait_stream(side)
    return adapter.read(x).tolist()


def replay_through_the_context(adapter: Adapter) -> Any:
    """The same through the context manager."""
    x, graph, before, side = (
        adapter.full(7, 3.0),
        adapter.new_graph(),
        adapter.current_stream(),
        adapter.capture_stream(),
    )
    side.wait_stream(before)
    with adapter.capture(graph, stream=side):
        x.add_(1.0)
    graph.replay()
    return adapter.read(x).tolist()


def step(error: BaseException) -> str:
    """The line of the small program that raised `error`."""
    lines = [frame.line for frame in traceback.extract_tb(error.__traceback__) if frame.filename == __file__]
    return f"`{lines[0]}`" if lines else "a small capture"
