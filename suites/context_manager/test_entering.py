"""What entering a block does before the capture begins: it makes room for the graph's memory."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

from conformance.adapter import Adapter
from conformance.markers import requirement

#: Elements of a tensor that is large enough to get memory of its own from the system: 24 MiB.
LARGE = 6 * 1024 * 1024 + 37


@requirement("context-manager.same-side-stream")
def test_streams_of_several_blocks(impl: Adapter, observe: Callable[[str, Any], None]) -> None:
    """Notes whether blocks that name no stream capture on one, also after a block that names another."""
    x = impl.full(37, 0.0)
    own_stream, streams = impl.new_stream(), []
    for stream in (None, None, own_stream, None):
        with impl.capture(impl.new_graph(), stream=stream):
            if stream is None:
                streams.append(impl.current_stream())
            x.add_(1.0)
    observe("one side stream", all(stream == streams[0] for stream in streams))


@requirement("context-manager.frees-cache")
def test_cached_memory(impl: Adapter, observe: Callable[[str, Any], None]) -> None:
    """Notes whether memory of a large tensor that was dropped is still reserved when the body begins."""
    x = impl.full(37, 0.0)
    impl.synchronize()
    impl.empty_cache()
    large = impl.full(LARGE, 1.0)
    impl.synchronize()
    peak = impl.memory_reserved()
    del large
    with impl.capture(impl.new_graph()):
        inside = impl.memory_reserved()
        x.add_(1.0)
    observe("cached memory is given back", inside < peak)


class _Knot:
    """Refers to itself, so that only a collection of garbage ends it."""

    def __init__(self) -> None:
        self.itself = self


@requirement("context-manager.collects-garbage")
def test_garbage(impl: Adapter, observe: Callable[[str, Any], None]) -> None:
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
