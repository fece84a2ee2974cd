"""Watching for inputs ends with the capture, however that ends."""

from __future__ import annotations

import gc

import pytest
import torch

from conformance.adapter import Adapter
from conformance.checks import expect
from conformance.markers import requirement
from suites.support.captures import capture_between
from suites.support.outcomes import caught
from suites.support.programs import SIZE, OperatorCount
from suites.support.streams import side_stream

WAYS = ("ended", "ended-and-replayed", "reset", "deletion")


def checked_capture(impl: Adapter, way: str, source: torch.Tensor) -> None:
    """Capture with the liveness check on, and end it in one of `WAYS`."""
    graph = impl.new_graph()
    if way.startswith("ended"):
        capture_between(impl, graph, lambda: source + 1, liveness=True)
        if way == "ended-and-replayed":
            graph.replay()
        return
    with side_stream(impl):
        impl.capture_begin(graph, liveness=True)
        source + 1
        if way == "deletion":
            del graph
            gc.collect(1)
        elif caught(graph.reset) is not None:
            # An implementation may refuse: the capture is then to be ended.
            impl.abort_capture(graph)
        if impl.is_current_stream_capturing():
            # That it goes on is another requirement's matter; any graph that is made here may end it.
            impl.abort_capture(impl.new_graph())


@requirement("liveness.watching-ends")
@pytest.mark.parametrize("way", WAYS)
def test_own_mode_ends_where_the_program_ends_it(impl: Adapter, way: str) -> None:
    """A mode around a checked capture sees the operators inside its block and none behind it."""
    source = impl.full(SIZE, 1.0)
    counter = OperatorCount()
    with counter:
        checked_capture(impl, way, source)
    inside = counter.operators
    source.mul_(2)
    promise = "a dispatch mode that the program put on around a checked capture ends where the program ends it"
    expect(counter.operators == inside, promise, "it still sees operators, so another was left on top of it")
