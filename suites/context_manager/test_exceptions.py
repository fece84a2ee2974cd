"""Exceptions in the block and at its end."""

from __future__ import annotations

import warnings

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_raises
from conformance.markers import requirement
from suites.context_manager.programs import Interruption
from suites.support.blocks import Unrelated, spoil
from suites.support.captures import captured, replay
from suites.support.outcomes import related
from suites.support.streams import stream_kept

#: Some that programs end by, and some that loops end by.
KINDS = (ValueError, StopIteration, GeneratorExit, KeyboardInterrupt, SystemExit, Unrelated, Interruption)


@pytest.mark.parametrize("words", [("from the body",), ()], ids=["with-words", "without-words"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@requirement("context-manager.exception-propagates")
def test_exception_reaches_the_caller(impl: Adapter, kind: type[BaseException], words: tuple[str, ...]) -> None:
    """The very exception that the body raised comes out of the block."""
    x = impl.full(37, 0.0)
    exception = kind(*words)

    def block() -> None:
        with impl.capture(impl.new_graph()):
            x.add_(1.0)
            raise exception

    with stream_kept(impl):
        error = expect_raises("the body's exception reaches the caller", block, kind)
    expect(error is exception, "the body's exception reaches the caller as it is", f"another one: {error!r}")


@requirement("context-manager.exception-propagates")
def test_exception_before_any_work(impl: Adapter) -> None:
    """An exception out of a body that captured nothing comes out of the block as well."""

    def block() -> None:
        with impl.capture(impl.new_graph()):
            raise Unrelated("from the body")

    with stream_kept(impl), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the empty capture may be warned about
        expect_raises("the body's exception reaches the caller", block, Unrelated)


@requirement("context-manager.exception-reachable")
def test_exception_of_body_and_end(impl: Adapter) -> None:
    """When the end fails too, the body's exception is not lost."""
    x = impl.full(37, 0.0)
    exception = Unrelated("from the body")
    outcome: BaseException | None = None
    with stream_kept(impl):
        try:
            with impl.capture(impl.new_graph()):
                x.add_(1.0)
                spoil(x)
                raise exception
        except Exception as error:
            outcome = error
    expect(
        exception in related(outcome),
        "the body's exception is raised, or stands in the context of what is raised",
        f"{related(outcome)!r}",
    )


@requirement("context-manager.failed-end-raises")
def test_failed_end_raises(impl: Adapter) -> None:
    """A fork that is not joined makes the block raise although its body returns."""
    x, y = impl.full(37, 0.0), impl.full(37, 0.0)
    graph = impl.new_graph()
    side = impl.new_stream()

    def block() -> None:
        with impl.capture(graph):
            x.add_(1.0)
            side.wait_stream(impl.current_stream())
            with impl.stream(side):
                y.add_(1.0)

    with stream_kept(impl):
        expect_raises("a capture with a fork that is not joined cannot be ended", block)
    expect_equal(impl, x, 0.0, "a capture that failed runs nothing")
    expect_equal(impl, y, 0.0, "a capture that failed runs nothing")


@pytest.mark.parametrize("kind", [Unrelated, Interruption], ids=lambda kind: kind.__name__)
@requirement("context-manager.exception-ends-capture")
def test_no_capture_is_left_open(impl: Adapter, kind: type[BaseException]) -> None:
    """After the exception nothing captures, work runs, and another graph captures and replays."""
    x = impl.full(37, 1.0)
    stream, first = impl.new_stream(), impl.new_graph()  # a graph that lives on cannot end its capture by dying
    with stream_kept(impl):
        try:
            with impl.capture(first, stream=stream):
                x.add_(1.0)
                raise kind("from the body")
        except kind:
            pass
    expect(not impl.is_current_stream_capturing(), "no capture is open after the block", "the current stream captures")
    with impl.stream(stream):
        expect(not impl.is_current_stream_capturing(), "no capture is open after the block", "its stream captures")
    expect_equal(impl, x, 1.0, "captured work does not run before a replay")
    x.add_(1.0)
    graph, _ = captured(impl, lambda: x.mul_(3.0), stream=stream)
    replay(impl, graph, times=2)
    expect_equal(impl, x, 18.0, "another graph captures and replays after an exception in a block")


@pytest.mark.parametrize("kind", [Unrelated, Interruption], ids=lambda kind: kind.__name__)
@requirement("context-manager.usable-after-exception")
def test_graph_holds_what_was_recorded(impl: Adapter, kind: type[BaseException]) -> None:
    """The graph replays the work from before the exception, and no more."""
    x, y = impl.full(37, 0.0), impl.full(37, 0.0)
    graph = impl.new_graph()
    stop = True
    with stream_kept(impl):
        try:
            with impl.capture(graph):
                x.add_(1.0)
                x.mul_(2.0)
                if stop:
                    raise kind("from the body")
                y.add_(1.0)
        except kind:
            pass
    expected = 0.0
    for _ in range(3):
        replay(impl, graph)
        expected = (expected + 1.0) * 2.0
        expect_equal(impl, x, expected, "the graph replays what the block recorded before the exception")
    expect_equal(impl, y, 0.0, "work that the body never reached is not in the graph")


@requirement("context-manager.usable-after-exception")
def test_graph_captures_anew_after_reset(impl: Adapter) -> None:
    """After the exception and reset the same graph captures another body."""
    x, y = impl.full(37, 0.0), impl.full(37, 0.0)
    graph = impl.new_graph()
    with stream_kept(impl):
        try:
            with impl.capture(graph):
                x.add_(1.0)
                raise Unrelated("from the body")
        except Unrelated:
            pass
    graph.reset()
    with impl.capture(graph):
        y.add_(1.0)
    replay(impl, graph, times=3)
    expect_equal(impl, x, 0.0, "reset deletes what the first block recorded")
    expect_equal(impl, y, 3.0, "the graph replays its new capture")
