"""Where a capture may begin and end, and what is reported while it is underway."""

from __future__ import annotations

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_no_raise, expect_raises
from conformance.errors import Unsupported
from conformance.markers import requirement
from suites.support.captures import BOTH_WAYS, capture_between, capture_by, open_capture, replay
from suites.support.streams import begin_on_the_default_stream, side_stream


@BOTH_WAYS
@requirement("capture.reports-capturing")
def test_current_stream_reports_its_capture(impl: Adapter, way: str) -> None:
    """is_current_stream_capturing is true inside a capture only."""
    x = impl.full(37, 0.0)
    reports: list[bool] = []

    def body() -> None:
        reports.append(impl.is_current_stream_capturing())
        x.add_(1.0)
        reports.append(impl.is_current_stream_capturing())

    graph = impl.new_graph()
    expect(not impl.is_current_stream_capturing(), "no capture is reported before one begins", "True")
    capture_by(impl, way, graph, body)
    expect(reports == [True, True], "the capturing stream reports its capture", f"{reports}")
    expect(not impl.is_current_stream_capturing(), "no capture is reported after it ended", "True")
    replay(impl, graph)
    expect(not impl.is_current_stream_capturing(), "a replay is no capture", "True")


@requirement("capture.reports-capturing")
def test_report_changes_with_begin_and_end(impl: Adapter) -> None:
    """On the capturing stream the report turns with capture_begin and with capture_end."""
    x = impl.full(37, 0.0)
    graph = impl.new_graph()
    side = impl.new_stream()
    with impl.stream(side):
        expect(not impl.is_current_stream_capturing(), "a stream is not capturing before capture_begin", "True")
    with open_capture(impl, graph, stream=side):
        expect(impl.is_current_stream_capturing(), "a stream is capturing after capture_begin", "False")
        x.add_(1.0)
        graph.capture_end()
        expect(not impl.is_current_stream_capturing(), "a stream is not capturing after capture_end", "True")


@requirement("capture.reports-this-stream")
def test_other_stream_does_not_report(impl: Adapter) -> None:
    """While one stream captures, another one made current reports no capture; the first still does."""
    x = impl.full(37, 0.0)
    graph = impl.new_graph()
    with open_capture(impl, graph):
        x.add_(1.0)
        with impl.stream(impl.new_stream()):
            elsewhere = impl.is_current_stream_capturing()
        here = impl.is_current_stream_capturing()
        graph.capture_end()
    expect(not elsewhere, "a stream outside the capture does not report one", "True")
    expect(here, "the capturing stream reports its capture after a visit to another stream", "False")


@requirement("capture.default-stream-refused")
def test_default_stream(impl: Adapter) -> None:
    """capture_begin raises when the default stream is current, or the capture is as good as any."""
    x = impl.full(37, 1.0)
    graph = impl.new_graph()
    refusal = begin_on_the_default_stream(impl, graph)
    if refusal is not None:
        return
    try:
        with impl.stream(impl.default_stream()):
            x.add_(2.0)
            graph.capture_end()
    except BaseException:
        impl.abort_capture(graph)
        raise
    expect_equal(impl, x, 1.0, "captured work does not run before a replay")
    for count in range(1, 4):
        replay(impl, graph)
        expect_equal(impl, x, 1.0 + 2.0 * count, "a capture that begins on the default stream records its work")


@requirement("capture.refused-begin-changes-nothing")
def test_refused_begin_leaves_no_capture(impl: Adapter) -> None:
    """After the refusal nothing captures, work runs, and the same graph captures on a side stream."""
    x = impl.full(37, 1.0)
    graph = impl.new_graph()
    if begin_on_the_default_stream(impl, graph) is None:
        impl.abort_capture(graph)
        raise Unsupported("the default stream can capture, so nothing refuses a capture for its stream")
    with side_stream(impl, impl.default_stream()):
        expect(not impl.is_current_stream_capturing(), "a refused capture_begin leaves no capture open", "one is open")
        x.add_(1.0)
        expect_equal(impl, x, 2.0, "work after a refused capture_begin runs as usual")
    expect_no_raise(
        "a graph whose capture_begin was refused can capture", lambda: capture_between(impl, graph, lambda: x.mul_(2.0))
    )
    replay(impl, graph, times=3)
    expect_equal(impl, x, 16.0, "a capture after a refused capture_begin replays what it recorded")


@pytest.mark.parametrize("where", ["side", "default"])
@requirement("capture.end-on-same-stream")
def test_end_on_another_stream_is_refused(impl: Adapter, where: str) -> None:
    """capture_end raises when another stream than the capturing one is current."""
    x = impl.full(37, 0.0)
    graph = impl.new_graph()
    other = impl.new_stream() if where == "side" else impl.default_stream()
    with open_capture(impl, graph) as stream:
        if stream == other:
            raise Unsupported("the device has one stream, so that none is another")
        x.add_(1.0)
        with impl.stream(other):
            expect_raises("capture_end on a stream that is not the capturing one is refused", graph.capture_end)
        graph.capture_end()


@requirement("capture.wrong-end-recoverable")
def test_capture_goes_on_after_wrong_end(impl: Adapter) -> None:
    """Work before and after the refused capture_end is in the graph, which ends on its own stream."""
    x = impl.full(37, 1.0)
    graph = impl.new_graph()
    with open_capture(impl, graph):
        x.add_(1.0)
        with impl.stream(impl.new_stream()):
            expect_raises("capture_end on a stream that is not the capturing one is refused", graph.capture_end)
        expect(impl.is_current_stream_capturing(), "a refused capture_end leaves the capture open", "it was ended")
        x.mul_(10.0)
        expect_no_raise("the capture then ends on its own stream", graph.capture_end)
    expect_equal(impl, x, 1.0, "captured work does not run before a replay")
    replay(impl, graph)
    expect_equal(impl, x, 20.0, "the graph holds the work from before and after the refused capture_end")
    replay(impl, graph)
    expect_equal(impl, x, 210.0, "the graph can be replayed again")
