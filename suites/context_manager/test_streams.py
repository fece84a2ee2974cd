"""Which stream is current in the block and after it."""

from __future__ import annotations

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_no_raise, expect_raises
from conformance.markers import requirement
from suites.support.blocks import RESTORED, Unrelated, refused_block, spoil
from suites.support.captures import replay
from suites.support.streams import side_stream, stream_kept


@pytest.mark.parametrize("outside", ["default", "side"])
@requirement("context-manager.own-stream")
def test_side_stream_by_default(impl: Adapter, outside: str) -> None:
    """Without a stream the block brings one, which is neither the caller's nor the default one, and captures it."""
    x = impl.full(37, 0.0)
    impl.synchronize()
    graph = impl.new_graph()
    with impl.stream(impl.default_stream() if outside == "default" else impl.new_stream()):
        before = impl.current_stream()
        block = impl.capture(graph)
        expect_no_raise("the block begins a capture, though the default stream is current", block.__enter__)
        try:
            inside, capturing = impl.current_stream(), impl.is_current_stream_capturing()
            x.add_(1.0)
        finally:
            block.__exit__(None, None, None)
    expect(inside != before, "the block makes a side stream current", f"{inside!r} is current, as before it")
    expect(inside != impl.default_stream(), "the block makes a side stream current", "it is the default stream")
    expect(capturing, "the block's own stream captures", "it does not")
    replay(impl, graph, times=3)
    expect_equal(impl, x, 3.0, "work on the block's own stream is captured")


@requirement("context-manager.given-stream")
def test_given_stream_is_captured(impl: Adapter) -> None:
    """A stream argument is current in the block, captures, and can be used and captured again afterwards."""
    x = impl.full(37, 0.0)
    stream = impl.new_stream()
    for round_ in range(1, 4):
        graph = impl.new_graph()
        with impl.capture(graph, stream=stream):
            inside, capturing = impl.current_stream(), impl.is_current_stream_capturing()
            x.add_(1.0)
        expect(inside == stream, "the given stream is current in the block", f"{inside!r}, not {stream!r}")
        expect(capturing, "the given stream captures", "it does not")
        with side_stream(impl, stream):
            expect(not impl.is_current_stream_capturing(), "the given stream is free after the block", "it captures")
            graph.replay()
        expect_equal(impl, x, float(round_), "work on the given stream is captured")


@requirement("context-manager.on-current-stream")
def test_current_stream_is_captured(impl: Adapter) -> None:
    """The graph itself in a with statement captures the current stream and leaves it current."""
    x = impl.full(37, 0.0)
    graph = impl.new_graph()
    with side_stream(impl) as stream:
        with graph:
            inside, capturing = impl.current_stream(), impl.is_current_stream_capturing()
            x.add_(1.0)
        after = impl.current_stream()
    expect(inside == stream, "the block leaves the current stream current", f"{inside!r}, not {stream!r}")
    expect(capturing, "the current stream captures", "it does not")
    expect(after == stream, "the current stream stays current after the block", f"{after!r}, not {stream!r}")
    expect_equal(impl, x, 0.0, "captured work does not run before a replay")
    replay(impl, graph, times=3)
    expect_equal(impl, x, 3.0, "work on the current stream is captured")


@pytest.mark.parametrize("outside", ["default", "side"])
@pytest.mark.parametrize("which", ["own-stream", "given-stream"])
@requirement("context-manager.restores-stream")
def test_stream_after_the_block(impl: Adapter, outside: str, which: str) -> None:
    """The stream from before is current after the block, and work on it runs."""
    x = impl.full(37, 0.0)
    impl.synchronize()
    graph = impl.new_graph()
    caller = impl.default_stream() if outside == "default" else impl.new_stream()
    with impl.stream(caller):
        with stream_kept(impl) as before:
            with impl.capture(graph, stream=impl.new_stream() if which == "given-stream" else None):
                x.add_(1.0)
            after = impl.current_stream()
        x.add_(10.0)
        expect_equal(impl, x, 10.0, "work after the block runs as usual")
    expect(after == before, RESTORED, f"{after!r} instead of {before!r}")


@pytest.mark.parametrize("which", ["own-stream", "given-stream"])
@requirement("context-manager.restores-stream")
def test_stream_of_entering(impl: Adapter, which: str) -> None:
    """A block made under one stream and entered under another gives back the one that it was entered under."""
    x = impl.full(37, 0.0)
    impl.synchronize()
    elsewhere, here = impl.new_stream(), impl.new_stream()
    with impl.stream(elsewhere):
        block = impl.capture(impl.new_graph(), stream=impl.new_stream() if which == "given-stream" else None)
    with impl.stream(here), stream_kept(impl) as before:
        with block:
            x.add_(1.0)
        after = impl.current_stream()
    expect(after == before, RESTORED, f"{after!r} instead of {before!r}, for a block made under {elsewhere!r}")


@pytest.mark.parametrize("outside", ["default", "side"])
@requirement("context-manager.restores-stream-after-exception")
def test_stream_after_an_exception(impl: Adapter, outside: str) -> None:
    """An exception of the body does not change what stream is current afterwards."""
    x = impl.full(37, 0.0)
    impl.synchronize()
    graph = impl.new_graph()
    caller = impl.default_stream() if outside == "default" else impl.new_stream()

    def block() -> None:
        with impl.capture(graph):
            x.add_(1.0)
            raise Unrelated("from the body")

    with impl.stream(caller), stream_kept(impl) as before:
        expect_raises("the body's exception reaches the caller", block, Unrelated)
        after = impl.current_stream()
    expect(after == before, RESTORED, f"{after!r} instead of {before!r}, after an exception in the body")


@pytest.mark.parametrize("body", ["body-returns", "body-raises"])
@requirement("context-manager.restores-stream-after-failed-end")
def test_stream_after_a_failed_end(impl: Adapter, body: str) -> None:
    """A capture that cannot be ended does not change what stream is current afterwards."""
    x = impl.full(37, 0.0)
    graph = impl.new_graph()
    with stream_kept(impl) as before:
        try:
            with impl.capture(graph):
                x.add_(1.0)
                spoil(x)
                if body == "body-raises":
                    raise Unrelated("from the body")
        except Exception as error:
            outcome = f"after {type(error).__name__}"
        else:
            outcome = "after a capture that ended well"
        after = impl.current_stream()
    expect(after == before, RESTORED, f"{after!r} instead of {before!r}, {outcome}")


@requirement("context-manager.restores-stream-after-failed-begin")
def test_stream_after_a_failed_begin(impl: Adapter) -> None:
    """A capture that cannot begin runs no body and does not change what stream is current afterwards."""
    refused_block(impl, impl.new_graph())
