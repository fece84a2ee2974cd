"""Captures of a whole program, by each of the documented ways, and their replay."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect_no_raise
from conformance.errors import Unsupported
from suites.support.streams import side_stream


def capture_into(impl: Adapter, graph: Any, body: Callable[[], Any], **settings: Any) -> Any:
    """Capture `body` into `graph` with the implementation's context manager; return what `body` returned."""
    with impl.capture(graph, **settings):
        return body()


def captured(
    impl: Adapter, body: Callable[[], Any], *, keep_graph: bool | None = None, **settings: Any
) -> tuple[Any, Any]:
    """A new graph holding the work of `body`, and what `body` returned.

    Args:
        impl: the implementation.
        body: the work.
        keep_graph: for `Adapter.graph_for`, as `pool`, `mode` and `liveness` are.
        settings: those, and the `stream` that captures.
    """
    stream = settings.pop("stream", None)
    graph, rest = impl.graph_for(keep_graph, **settings)
    return graph, capture_into(impl, graph, body, stream=stream, **rest)


def capture_between(impl: Adapter, graph: Any, body: Callable[[], Any], *, stream: Any = None, **settings: Any) -> Any:
    """Capture `body` between capture_begin and capture_end on a side stream; return what `body` returned."""
    with side_stream(impl, stream):
        impl.capture_begin(graph, **settings)
        try:
            result = body()
        except BaseException:
            impl.abort_capture(graph)
            raise
        graph.capture_end()
    return result


def replay(impl: Adapter, graph: Any, times: int = 1) -> None:
    """Replay `graph` on the current stream and wait for it."""
    for _ in range(times):
        expect_no_raise("a graph that holds a capture can be replayed", graph.replay)
    impl.synchronize()


#: Every way that the documents offer to capture.
BOTH_WAYS = pytest.mark.parametrize("way", ["begin-end", "context"])


def capture_by(impl: Adapter, way: str, graph: Any, body: Callable[[], Any]) -> Any:
    """Capture `body` between the two calls, or with the context manager; return what `body` returned."""
    if way == "begin-end":
        return capture_between(impl, graph, body)
    return capture_into(impl, graph, body)


@contextlib.contextmanager
def open_capture(impl: Adapter, graph: Any, *others: Any, stream: Any = None, **settings: Any) -> Iterator[Any]:
    """Begin a capture on a side stream and leave ending it to the block; clean up what a failing block leaves open.

    Args:
        impl: the implementation.
        graph: begins the capture.
        others: graphs that could interfere if the implementation is broken.
        stream: captures; a new one when left out.
        settings: for `Adapter.capture_begin`.
    """
    with side_stream(impl, stream) as side:
        impl.capture_begin(graph, **settings)
        failed = True
        try:
            yield side
            failed = False
        finally:
            for owner in (graph, *others):
                if is_left_open(impl, unless_told=failed):
                    impl.abort_capture(owner)


def is_left_open(impl: Adapter, *, unless_told: bool) -> bool:
    """Whether a capture is underway on the current stream; `unless_told` where nothing tells."""
    try:
        return impl.is_current_stream_capturing()
    except Unsupported:
        return unless_told


def kept_graph(impl: Adapter, body: Callable[[], Any]) -> Any:
    """A graph with keep_graph=True holding the work of `body`."""
    graph = impl.new_graph(keep_graph=True)
    capture_between(impl, graph, body)
    return graph
