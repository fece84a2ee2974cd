"""After a capture that failed over a second stream: both streams, their events and the graph can be used again."""

from __future__ import annotations

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_no_raise
from conformance.markers import requirement
from suites.failed_capture.programs import Spoiler, forking, spoil
from suites.support.captures import open_capture
from suites.support.disturbances import attempt
from suites.support.programs import POISON, SIZE, Affine
from suites.support.recovery import expect_capture, expect_eager_work


@requirement("failed-capture.fork-aftermath")
@forking
def test_stream_and_graph(impl: Adapter, spoiler: Spoiler) -> None:
    """The capturing stream is free and works; the graph, reset, captures on it again."""
    outcome = spoil(impl, spoiler, Affine(impl).body)
    expect(
        not outcome.left_capturing,
        "after capture_end, raising or not, the stream is not capturing",
        f"it still is ({outcome})",
    )
    expect_eager_work(impl, outcome.stream, "after a failed capture its stream runs ordinary work")
    outcome.graph.reset()
    promise = "after a failed capture and reset the graph captures again"
    expect_capture(impl, outcome.graph, promise, stream=outcome.stream)


@requirement("failed-capture.fork-aftermath")
def test_forked_stream(impl: Adapter) -> None:
    """The stream that was forked to and never joined leaves the capture with it."""
    program, fork, extra = Affine(impl), impl.new_stream(), impl.full(SIZE, 1.0)

    def unjoined() -> None:
        fork.wait_stream(impl.current_stream())
        with impl.stream(fork):
            extra.add_(1)

    attempt(impl, program.body, unjoined)
    with impl.stream(fork):
        capturing = impl.is_current_stream_capturing()
    expect(not capturing, "a stream forked to in a capture leaves it when the capture ends", "it is still capturing")
    expect_eager_work(impl, fork, "a stream forked to in a failed capture runs ordinary work afterwards")


@requirement("failed-capture.fork-aftermath")
def test_streams_and_event_serve_again(impl: Adapter) -> None:
    """Streams and event of an unjoined capture make a good fork and join in the next one."""
    main, fork, event = impl.new_stream(), impl.new_stream(), impl.new_event()
    x, out = impl.full(SIZE, 2.0), impl.full(SIZE, POISON)

    def forked() -> None:
        event.record(impl.current_stream())
        fork.wait_event(event)
        with impl.stream(fork):
            out.copy_(x * 4)

    attempt(impl, forked, lambda: None, stream=main)
    graph = impl.new_graph()
    promise = "streams and events of a failed capture serve the next capture"

    def capture() -> None:
        with open_capture(impl, graph, stream=main):
            forked()
            impl.current_stream().wait_stream(fork)
            graph.capture_end()

    expect_no_raise(promise, capture)
    for value in (3.0, -5.0, 8.0):
        x.fill_(value)
        out.fill_(POISON)
        graph.replay()
        expect_equal(impl, out, value * 4, promise)
