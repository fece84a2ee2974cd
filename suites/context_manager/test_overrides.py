"""The context manager calls capture_begin and capture_end of the graph that it is given, a subclass's own included."""

from __future__ import annotations

import contextlib

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal
from conformance.markers import requirement
from suites.context_manager.programs import Call, overriding_graph
from suites.support.blocks import Unrelated
from suites.support.captures import replay
from suites.support.streams import stream_kept
from suites.support.tokens import equal


@pytest.mark.parametrize("end", ["body-returns", "body-raises"])
@requirement("context-manager.calls-the-graph")
def test_overridden_methods(impl: Adapter, end: str) -> None:
    """A subclass's capture_begin and capture_end are each called once, the one before the body, the other after it."""
    x = impl.full(37, 0.0)
    calls: list[Call] = []
    graph = overriding_graph(impl, calls)
    if graph is None:
        return
    order: list[list[str]] = []

    def body() -> None:
        order.append([method for method, _, _ in calls])
        x.add_(2.0)
        if end == "body-raises":
            raise Unrelated("from the body")

    with stream_kept(impl), contextlib.suppress(Unrelated), impl.capture(graph):
        body()
    order.append([method for method, _, _ in calls])
    promise = "the context manager calls the graph's own capture_begin and capture_end, each once"
    expect(order == [["capture_begin"], ["capture_begin", "capture_end"]], promise, f"before and after it: {order}")
    replay(impl, graph, times=3)
    expect_equal(impl, x, 6.0, "a graph of a subclass replays what the block captured")


@requirement("context-manager.pool-passed-on")
def test_pool_reaches_capture_begin(impl: Adapter) -> None:
    """A token given to the context manager is given to capture_begin; without one none is."""
    x = impl.full(37, 0.0)
    token = impl.graph_pool_handle()
    for pool in (token, None):
        calls: list[Call] = []
        graph = overriding_graph(impl, calls)
        if graph is None:
            return
        with impl.capture(graph, pool=pool):
            x.add_(1.0)
        given = [argument for _, arguments, _ in calls for argument in arguments]
        has_token = any(argument is token or equal(argument, token) for argument in given)
        promise = "a pool goes from the context manager to capture_begin, and none does when there is none"
        expect(has_token == (pool is token), promise, f"capture_begin was given {given!r} for the pool {pool!r}")


@requirement("context-manager.waits-before-capture")
def test_device_is_done_before_the_capture(impl: Adapter) -> None:
    """When capture_begin is called, work that another stream had before the block is done."""
    x, y = impl.full(37, 0.0), impl.full(37, 0.0)
    stream, event = impl.new_stream(), impl.new_event()
    impl.synchronize()
    calls: list[Call] = []
    graph = overriding_graph(impl, calls, event.query)
    if graph is None:
        return
    with impl.stream(stream):
        for _ in range(3):
            x.add_(1.0)
        event.record(stream)
    with impl.capture(graph):
        y.add_(1.0)
    seen = [seen for method, _, seen in calls if method == "capture_begin"]
    expect(seen == [True], "entering waits for the device before the capture begins", f"done at that time: {seen}")
    expect_equal(impl, x, 3.0, "work from before the block runs as usual")
