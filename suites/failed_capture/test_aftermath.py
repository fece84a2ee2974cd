"""After a failed capture: the graph holds nothing; streams, other graphs and later captures work as before."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_no_raise, expect_raises
from conformance.markers import requirement
from suites.failed_capture.programs import Spoiler, basic, spoil
from suites.support.disturbances import attempt, host_read
from suites.support.outcomes import caught, in_words
from suites.support.programs import SIZE, Affine
from suites.support.recovery import expect_capture, expect_eager_work
from suites.support.streams import side_stream


@requirement("failed-capture.replay-refused")
@basic
def test_replay_refused(impl: Adapter, spoiler: Spoiler) -> None:
    """A graph whose capture failed refuses every replay and runs nothing."""
    program = Affine(impl)
    outcome = spoil(impl, spoiler, program.body)
    if outcome.ending is None:  # here the call did the capture no harm, which test_quiet_end looks at
        program.check(impl, outcome.graph, "a capture that ended without an error replays")
        return
    program.out.fill_(4.0)
    for _ in range(2):
        expect_raises("a graph whose capture failed refuses to replay", outcome.graph.replay)
    expect_equal(impl, program.out, 4.0, "a refused replay runs nothing")


@requirement("failed-capture.replay-refused-keep-graph")
def test_replay_refused_keep_graph(impl: Adapter) -> None:
    """The replay that would instantiate on demand finds no template after a failure."""
    program = Affine(impl)
    outcome = spoil(impl, host_read, program.body, keep_graph=True)
    if outcome.ending is None:
        program.check(impl, outcome.graph, "a capture that ended without an error replays")
        return
    expect_raises("a keep_graph=True graph whose capture failed refuses to replay", outcome.graph.replay)


@requirement("failed-capture.stream-usable")
@basic
def test_stream_usable(impl: Adapter, spoiler: Spoiler) -> None:
    """The capture is over, and eager work runs at once on its stream and on the caller's."""
    outcome = spoil(impl, spoiler, Affine(impl).body)
    expect(
        not outcome.left_capturing,
        "after capture_end, raising or not, the stream is not capturing",
        f"it still is ({outcome})",
    )
    expect_eager_work(impl, outcome.stream, "after a failed capture its stream runs ordinary work")
    expect_eager_work(impl, impl.current_stream(), "after a failed capture the caller's stream runs ordinary work")
    expect_no_raise("after a failed capture the device can be waited for", impl.synchronize)


@requirement("failed-capture.reset-works")
@basic
def test_reset(impl: Adapter, spoiler: Spoiler) -> None:
    """A failed graph can be reset, twice, and holds nothing afterwards."""
    outcome = spoil(impl, spoiler, Affine(impl).body)
    expect_no_raise("reset works after a failed capture", outcome.graph.reset)
    expect_no_raise("reset works a second time after a failed capture", outcome.graph.reset)
    expect_raises("a graph that was reset refuses to replay", outcome.graph.replay)


@requirement("failed-capture.recapture")
@basic
def test_recapture(impl: Adapter, spoiler: Spoiler) -> None:
    """Failed, reset, captured again: the graph is as good as new."""
    outcome = spoil(impl, spoiler, Affine(impl).body)
    outcome.graph.reset()
    promise = "after a failed capture and reset the graph captures again"
    expect_capture(impl, outcome.graph, promise, stream=outcome.stream)


@requirement("failed-capture.recapture")
def test_recapture_after_several_failures(impl: Adapter) -> None:
    """One graph fails several times over before it captures."""
    graph, stream = impl.new_graph(), impl.new_stream()
    for _ in range(4):
        spoil(impl, host_read, Affine(impl).body, graph=graph, stream=stream)
        graph.reset()
    expect_capture(impl, graph, "after several failed captures, each reset, the graph captures", stream=stream)


@requirement("failed-capture.recapture", "reset.keeps-mode")
@pytest.mark.parametrize("keep_graph", [False, True], ids=["not-kept", "kept"])
def test_mode_of_a_recapture(impl: Adapter, *, keep_graph: bool) -> None:
    """Failed, reset, captured again: keep_graph is what the constructor was given."""
    outcome = spoil(impl, host_read, Affine(impl).body, keep_graph=keep_graph)
    outcome.graph.reset()
    promise = "after a failed capture and reset the graph captures again, and keep_graph is what it was"
    program = expect_capture(impl, outcome.graph, promise)
    if keep_graph:
        expect_no_raise(f"{promise}: True, so instantiate() works", outcome.graph.instantiate)
    program.check(impl, outcome.graph, promise)


@requirement("failed-capture.next-capture")
@basic
def test_next_capture(impl: Adapter, spoiler: Spoiler) -> None:
    """Another graph captures while the failed one is still there, and outlives it."""
    outcome = spoil(impl, spoiler, Affine(impl).body)
    graph = impl.new_graph()
    promise = "after a failed capture another graph captures on the same stream"
    program = expect_capture(impl, graph, promise, stream=outcome.stream)
    outcome.graph.reset()
    program.check(impl, graph, "resetting the failed graph takes nothing from another graph")


@requirement("failed-capture.other-graphs-untouched")
def test_other_graph(impl: Adapter) -> None:
    """A graph captured on the same stream before the failure replays before and after the failed graph's reset."""
    stream, graph = impl.new_stream(), impl.new_graph()
    program = expect_capture(impl, graph, "a graph captures and replays", stream=stream)
    outcome = spoil(impl, host_read, Affine(impl).body, stream=stream)
    program.check(impl, graph, "a graph replays the right values after another graph's capture failed")
    outcome.graph.reset()
    program.check(impl, graph, "a graph replays the right values after the failed graph was reset")


@requirement("failed-capture.recapture-without-reset")
def test_recapture_without_reset(impl: Adapter, observe: Any) -> None:
    """What capture_begin does on a failed graph that was not reset."""
    outcome = spoil(impl, host_read, Affine(impl).body)
    if outcome.ending is None:
        observe("capture_begin", "not asked: the capture did not fail")
        return
    tensor = impl.full(SIZE, 1.0)

    def capture() -> None:
        with side_stream(impl, outcome.stream):
            impl.capture_begin(outcome.graph)
            tensor.add_(1)
            impl.abort_capture(outcome.graph)

    error = caught(capture)
    observe("capture_begin", "accepted" if error is None else f"refused: {in_words(error)}")


class UserError(Exception):
    """Raised by the body of a capture, as user code would."""


def raise_user_error() -> None:
    """User code that fails."""
    raise UserError("the body failed")


@requirement("failed-capture.body-exception-leaves-all-usable")
def test_body_exception(impl: Adapter) -> None:
    """After a user's exception in the body, capture_end ends the capture, and reset makes the graph usable."""
    outcome = attempt(impl, Affine(impl).body, raise_user_error)
    expect(not outcome.left_capturing, "after capture_end the stream is not capturing", "it still is")
    expect_eager_work(impl, outcome.stream, "after an exception in the body the stream runs ordinary work")
    expect_no_raise("reset works after an exception in the body", outcome.graph.reset)
    promise = "after an exception in the body and reset the graph captures again"
    expect_capture(impl, outcome.graph, promise, stream=outcome.stream)


@requirement("failed-capture.body-exception-leaves-all-usable")
def test_body_exception_in_context(impl: Adapter) -> None:
    """The context manager that such an exception leaves has ended the capture."""
    stream, graph, program = impl.new_stream(), impl.new_graph(), Affine(impl)

    def block() -> None:
        with impl.capture(graph, stream=stream):
            program.body()
            raise_user_error()

    error = caught(block)
    expect(isinstance(error, UserError), "the body's exception leaves the context manager", in_words(error))
    with impl.stream(stream):
        capturing = impl.is_current_stream_capturing()
        if capturing:
            impl.abort_capture(graph)
    expect(not capturing, "an exception in the body ends the capture", "the stream is still capturing")
    graph.reset()
    expect_capture(impl, graph, "after an exception in the body and reset the graph captures again", stream=stream)
