"""What the context managers take besides the graph."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_no_raise
from conformance.markers import requirement
from suites.support.blocks import context
from suites.support.captures import captured, replay


@pytest.mark.parametrize("origin", ["handle", "none"])
@pytest.mark.parametrize("way", ["position", "keyword"])
@requirement("context-manager.pool-argument")
def test_pool(impl: Adapter, way: str, origin: str) -> None:
    """A pool token, or None, is taken either way; the graph does its own work."""
    x = impl.full(37, 1.0)
    token = impl.graph_pool_handle() if origin == "handle" else None
    first, y = captured(impl, lambda: x + 1.0, pool=token)
    second = impl.new_graph()
    outputs: list[Any] = []

    def block() -> None:
        manager = context(impl, second, token) if way == "position" else context(impl, second, pool=token)
        with manager:
            outputs.append(x * 3.0)

    expect_no_raise(f"the context manager takes a pool by {way}", block)
    for value in (2.0, 5.0, -4.0):
        x.fill_(value)
        y.fill_(-1.0)
        outputs[0].fill_(-1.0)
        replay(impl, first)
        replay(impl, second)
        expect_equal(impl, y, value + 1.0, "the earlier graph does its own work")
        expect_equal(impl, outputs[0], value * 3.0, "a graph captured with a pool argument does its own work")


@pytest.mark.parametrize("way", ["position", "keyword"])
@requirement("context-manager.stream-position")
def test_stream_after_pool(impl: Adapter, way: str) -> None:
    """The stream comes after the pool, and is the one that captures."""
    x = impl.full(37, 0.0)
    stream, graph = impl.new_stream(), impl.new_graph()
    token = impl.graph_pool_handle()
    manager = context(impl, graph, token, stream) if way == "position" else context(impl, graph, stream=stream)
    with manager:
        inside = impl.current_stream()
        x.add_(1.0)
    expect(inside == stream, f"a stream given by {way} is current in the block", f"{inside!r}, not {stream!r}")
    replay(impl, graph, times=3)
    expect_equal(impl, x, 3.0, "work on the given stream is captured")


@pytest.mark.parametrize("mode", ["global", "thread_local", "relaxed"])
@requirement("context-manager.mode-argument")
def test_mode(impl: Adapter, mode: str) -> None:
    """A capture in each error mode records the body and runs none of it."""
    x = impl.full(37, 1.0)
    graphs: list[Any] = []
    y = impl.full(37, -1.0)

    def block() -> None:
        graph, settings = impl.graph_for(mode=mode)
        graphs.append(graph)
        with impl.capture(graph, **settings):
            y.copy_(x * 2.0)
            y.add_(1.0)

    if impl.dialect == "accelerator":
        try:
            block()
        except Exception:
            # A backend of the generic class may refuse a mode; what it must not do is take it and capture nothing.
            expect(not impl.is_current_stream_capturing(), "a refused mode begins no capture", "the stream captures")
            return
    else:
        expect_no_raise(f"a capture takes the error mode {mode}", block)
    expect_equal(impl, y, -1.0, "captured work does not run before a replay")
    for value in (1.0, 4.0, -3.0):
        x.fill_(value)
        y.fill_(-1.0)
        replay(impl, graphs[0])
        expect_equal(impl, y, value * 2.0 + 1.0, f"a graph captured in mode {mode} replays its work")
