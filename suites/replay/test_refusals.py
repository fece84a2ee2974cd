"""When there is nothing to replay, replay says so and changes nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_raises
from conformance.markers import requirement
from suites.support.captures import capture_into, captured, replay
from suites.support.streams import side_stream

NOTHING_CAPTURED = "replay of a graph that captured nothing is refused"


@requirement("replay.before-capture-refused")
def test_new_graph(impl: Adapter) -> None:
    """A graph that never captured cannot be replayed, however often it is tried."""
    graph = impl.new_graph()
    for _ in range(2):
        expect_raises(NOTHING_CAPTURED, graph.replay)


@requirement("replay.before-capture-refused")
def test_during_its_own_capture(impl: Adapter) -> None:
    """A graph cannot be replayed while it captures."""
    x = impl.full(37, 1.0)
    graph = impl.new_graph()
    with impl.capture(graph):
        x.add_(1.0)
        expect_raises("replay of a graph that is capturing is refused", graph.replay)
    expect_equal(impl, x, 1.0, "a refused replay runs nothing")


@requirement("replay.refused-changes-nothing")
def test_capture_after_a_refused_replay(impl: Adapter) -> None:
    """A graph whose replay was refused captures and replays as a new one does."""
    x = impl.full(37, 1.0)
    graph = impl.new_graph()
    expect_raises(NOTHING_CAPTURED, graph.replay)
    y = capture_into(impl, graph, lambda: x * 3.0)
    for value in (2.0, 5.0, -1.0):
        x.fill_(value)
        y.fill_(-1.0)
        replay(impl, graph)
        expect_equal(impl, y, value * 3.0, "a graph whose replay was refused can capture and replay")


@requirement("replay.refused-changes-nothing")
def test_capture_goes_on_after_a_refused_replay(impl: Adapter) -> None:
    """Work before and after a replay that was refused inside the capture is in the graph."""
    x = impl.full(37, 1.0)
    graph = impl.new_graph()
    with impl.capture(graph):
        x.add_(1.0)
        expect_raises("replay of a graph that is capturing is refused", graph.replay)
        expect(impl.is_current_stream_capturing(), "a refused replay leaves the capture open", "it was ended")
        x.mul_(10.0)
    replay(impl, graph)
    expect_equal(impl, x, 20.0, "a refused replay inside a capture leaves the capture as it was")


@requirement("replay.failed-capture-refused")
def test_after_a_failed_capture(impl: Adapter) -> None:
    """When capture_end raised there is nothing to replay; when it did not, the graph holds what was recorded."""
    x = impl.full(37, 1.0)
    graph = impl.new_graph()
    error: Exception | None = None
    with impl.stream(impl.current_stream()), side_stream(impl):
        impl.capture_begin(graph)
        x.add_(1.0)
        with contextlib.suppress(Exception):
            x[0].item()  # a read on the host, which no capture can record
        try:
            graph.capture_end()
        except Exception as raised:
            error = raised
    if error is None:
        # The class refused the read alone and kept the capture valid: then it must have kept all of it.
        replay(impl, graph)
        expect_equal(impl, x, 2.0, "a capture that ended without an error replays what it recorded")
        return
    for _ in range(2):
        expect_raises(f"replay is refused after capture_end raised ({type(error).__name__})", graph.replay)
    expect_equal(impl, x, 1.0, "a refused replay runs nothing")


@requirement("replay.after-reset-refused")
def test_after_reset(impl: Adapter) -> None:
    """After reset the captured graph is gone: a replay is refused and runs nothing."""
    x = impl.full(37, 1.0)
    graph, _ = captured(impl, lambda: x.add_(1.0))
    replay(impl, graph, times=2)
    graph.reset()
    expect_raises("replay after reset is refused", graph.replay)
    expect_equal(impl, x, 3.0, "a replay that is refused after reset runs nothing")


@requirement("reset.deletes-work")
def test_only_the_new_capture_after_reset(impl: Adapter) -> None:
    """After reset and another capture only the later work is replayed."""
    x, y = impl.full(37, 0.0), impl.full(37, 0.0)
    graph, _ = captured(impl, lambda: x.add_(1.0))
    replay(impl, graph)
    graph.reset()
    capture_into(impl, graph, lambda: y.add_(1.0))
    replay(impl, graph, times=3)
    expect_equal(impl, x, 1.0, "reset deletes the earlier graph")
    expect_equal(impl, y, 3.0, "a capture after reset is replayed")


@requirement("replay.result")
def test_result(impl: Adapter, observe: Callable[[str, Any], None]) -> None:
    """Records what replay returns."""
    x = impl.full(37, 0.0)
    graph, _ = captured(impl, lambda: x.add_(1.0))
    result = graph.replay()
    impl.synchronize()
    observe("type of the result", type(result).__name__)
