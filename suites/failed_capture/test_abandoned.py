"""A graph reset or deleted in the middle of its capture."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect, is_refusal
from conformance.markers import requirement
from suites.support.memory import ALL, YOUNG, growth, use_large_memory
from suites.support.outcomes import caught, in_words
from suites.support.programs import Affine
from suites.support.recovery import expect_capture, expect_eager_work

#: Abandons a capture that it begins on the current stream; returns the graph, if there still is one.
Abandon = Callable[[Adapter, Callable[[], Any]], Any]


def by_reset(impl: Adapter, body: Callable[[], Any]) -> Any:
    """Reset in the middle.  An implementation may refuse: the capture is then intact, and is ended."""
    impl.need_reset()
    graph = impl.new_graph()
    impl.capture_begin(graph)
    body()
    error = caught(graph.reset)
    if error is None:
        return graph
    expect(is_refusal(error), "reset during a capture works or is refused", in_words(error))
    ending = caught(graph.capture_end)
    expect(ending is None, "a reset that is refused leaves the capture to be ended", in_words(ending))
    return graph


def by_deletion(impl: Adapter, body: Callable[[], Any]) -> None:
    """The last reference goes in the middle."""
    graph = impl.new_graph()
    impl.capture_begin(graph)
    body()
    del graph
    gc.collect(YOUNG)
    if impl.is_current_stream_capturing():
        gc.collect(ALL)


ways = pytest.mark.parametrize(
    "abandon", [pytest.param(by_reset, id="reset"), pytest.param(by_deletion, id="deletion")]
)


def abandon_on(impl: Adapter, stream: Any, abandon: Abandon, body: Callable[[], Any]) -> bool:
    """Abandon a capture on `stream`; return whether the stream was left capturing (it is then cleaned up)."""
    before = impl.current_stream()
    stream.wait_stream(before)
    with impl.stream(stream):
        try:
            graph = abandon(impl, body)  # kept, because its deletion would end what reset should have ended
        finally:
            left_capturing = impl.is_current_stream_capturing()
            if left_capturing:
                # The owner is gone; on a broken implementation any graph made on this stream may end its capture.
                impl.abort_capture(impl.new_graph())
    del graph
    return left_capturing


@requirement("failed-capture.abandoned-not-capturing")
@ways
def test_not_capturing(impl: Adapter, abandon: Abandon) -> None:
    """An abandoned capture is over."""
    left_capturing = abandon_on(impl, impl.new_stream(), abandon, Affine(impl).body)
    expect(
        not left_capturing,
        "when a graph is reset or deleted during its capture the stream stops capturing",
        "the stream is still capturing, and nothing is left to end it with",
    )


@requirement("failed-capture.abandoned-all-usable")
@ways
def test_stream_usable(impl: Adapter, abandon: Abandon) -> None:
    """The stream of an abandoned capture runs ordinary work."""
    stream = impl.new_stream()
    abandon_on(impl, stream, abandon, Affine(impl).body)
    expect_eager_work(impl, stream, "after an abandoned capture its stream runs ordinary work")
    expect_eager_work(impl, impl.current_stream(), "after an abandoned capture the caller's stream runs ordinary work")


@requirement("failed-capture.abandoned-all-usable")
@ways
def test_next_capture(impl: Adapter, abandon: Abandon) -> None:
    """The stream of an abandoned capture takes another one."""
    stream = impl.new_stream()
    abandon_on(impl, stream, abandon, Affine(impl).body)
    expect_capture(impl, impl.new_graph(), "after an abandoned capture another graph captures", stream=stream)


@requirement("failed-capture.abandoned-all-usable")
def test_recapture_after_reset(impl: Adapter) -> None:
    """The graph that was reset in the middle of a capture captures again itself."""
    impl.need_reset()
    graph, stream = impl.new_graph(), impl.new_stream()

    def abandon(impl: Adapter, body: Callable[[], Any]) -> Any:
        impl.capture_begin(graph)
        body()
        if caught(graph.reset) is not None:
            impl.abort_capture(graph)
        return graph

    abandon_on(impl, stream, abandon, Affine(impl).body)
    expect_capture(impl, graph, "a graph that was reset during a capture captures again", stream=stream)


@requirement("failed-capture.abandoned-memory-returns")
@ways
def test_memory(impl: Adapter, abandon: Abandon) -> None:
    """The memory of an abandoned capture serves the next."""
    stream = impl.new_stream()

    def cycle() -> None:
        abandon_on(impl, stream, abandon, lambda: use_large_memory(impl))

    difference = growth(impl, cycle, impl.memory_reserved)
    expect(
        difference <= 0,
        "the memory of a capture that was abandoned serves what comes next",
        f"{difference} bytes more reserved after three",
    )
