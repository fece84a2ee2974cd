"""What entering a block does before the capture begins: it makes room for the graph's memory."""

from __future__ import annotations

import gc
import weakref
from typing import Any

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal
from conformance.markers import requirement
from suites.support.captures import replay

#: Elements of a tensor that is large enough to get memory of its own from the system: 24 MiB.
LARGE = 6 * 1024 * 1024 + 37


@requirement("context-manager.same-side-stream")
def test_blocks_share_their_side_stream(impl: Adapter) -> None:
    """Several blocks without a stream capture on the same side stream."""
    x = impl.full(37, 0.0)
    graphs, streams = [], []
    for _ in range(3):
        graphs.append(impl.new_graph())
        with impl.capture(graphs[-1]):
            streams.append(impl.current_stream())
            x.add_(1.0)
    expect(
        all(stream == streams[0] for stream in streams),
        "blocks that name no stream use one side stream",
        f"the streams of three blocks: {streams!r}",
    )
    for graph in graphs:
        replay(impl, graph)
    expect_equal(impl, x, 3.0, "graphs that were captured on one side stream replay their own work")


@requirement("context-manager.same-side-stream")
def test_a_given_stream_is_for_its_block_only(impl: Adapter) -> None:
    """A block that names a stream does not change the one that other blocks use."""
    x = impl.full(37, 0.0)
    own_stream, streams = impl.new_stream(), []
    for stream in (None, own_stream, None):
        with impl.capture(impl.new_graph(), stream=stream):
            streams.append(impl.current_stream())
            x.add_(1.0)
    expect(streams[1] == own_stream, "a given stream is current in its block", f"{streams[1]!r}, not {own_stream!r}")
    expect(
        streams[0] == streams[2],
        "blocks that name no stream use one side stream",
        f"{streams[0]!r}, then {streams[2]!r}",
    )


@requirement("context-manager.frees-cache")
def test_cached_memory_is_given_back(impl: Adapter) -> None:
    """Memory of a large tensor that was dropped is no longer reserved when the body begins."""
    x = impl.full(37, 0.0)
    impl.synchronize()
    impl.empty_cache()
    before = impl.memory_reserved()
    large = impl.full(LARGE, 1.0)
    impl.synchronize()
    peak = impl.memory_reserved()
    expect(peak > before, "a large tensor's memory counts as reserved", f"{peak} bytes, {before} before it")
    del large
    graph = impl.new_graph()
    with impl.capture(graph):
        inside = impl.memory_reserved()
        x.add_(1.0)
    expect(
        inside < peak,
        "entering a block gives unused cached memory back",
        f"{inside} bytes are reserved in the block; {peak} were with the tensor that is gone, and {before} before it",
    )
    replay(impl, graph, times=3)
    expect_equal(impl, x, 3.0, "the graph replays its work")


class _Knot:
    """Refers to itself, so that only a collection of garbage ends it."""

    def __init__(self) -> None:
        self.itself = self


@requirement("context-manager.collects-garbage")
def test_garbage(impl: Adapter, observe: Any) -> None:
    """Notes whether an object that only a cycle keeps is gone when the body begins."""
    x = impl.full(37, 0.0)
    enabled = gc.isenabled()
    gc.disable()
    try:
        knot = weakref.ref(_Knot())
        with impl.capture(impl.new_graph()):
            observe("garbage_collected", knot() is None)
            x.add_(1.0)
    finally:
        if enabled:
            gc.enable()
