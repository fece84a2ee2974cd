"""A replay is work of the current stream: ordered with the rest of it, wherever the capture was made."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect_equal
from conformance.markers import requirement
from suites.replay.programs import captured_chain, chain, chained
from suites.support.captures import capture_between, captured
from suites.support.streams import side_stream


@pytest.mark.parametrize("where", ["capture-stream", "other-stream", "default-stream"])
@requirement("replay.any-stream")
def test_replay_stream(impl: Adapter, where: str) -> None:
    """The stream of the replay does not matter for what it computes."""
    x, y = impl.full(37, 0.0), impl.full(37, 0.0)
    graph, stream = impl.new_graph(), impl.new_stream()
    capture_between(impl, graph, lambda: chain(x, y), stream=stream)
    target: Any = {"capture-stream": stream, "default-stream": impl.default_stream()}.get(where) or impl.new_stream()
    for value in (1.0, 6.0, -4.0):
        with side_stream(impl, target):
            x.fill_(value)
            y.fill_(-1.0)
            graph.replay()
        expect_equal(impl, y, chained(value), f"a replay on the {where} performs the captured work")


@requirement("replay.any-stream")
def test_different_streams_in_turn(impl: Adapter) -> None:
    """One graph goes from stream to stream, each ordered after the one before."""
    x = impl.full(37, 0.0)
    graph = impl.new_graph()
    capture_between(impl, graph, lambda: x.mul_(2.0).add_(1.0))
    expected = 0.0
    for _ in range(4):
        with side_stream(impl):
            graph.replay()
        expected = expected * 2.0 + 1.0
    expect_equal(impl, x, expected, "replays on streams that are ordered one after the other are ordered so")


@pytest.mark.parametrize("where", ["side-stream", "default-stream"])
@requirement("replay.ordered-on-stream")
def test_between_earlier_and_later_work(impl: Adapter, where: str) -> None:
    """Without any wait by the host, a replay sees earlier writes and none of the later ones."""
    x, y = impl.full(37, 0.0), impl.full(37, 0.0)
    copies = [impl.full(37, 0.0) for _ in range(5)]
    graph = captured_chain(impl, x, y)
    target = impl.new_stream() if where == "side-stream" else impl.default_stream()
    with side_stream(impl, target):
        for value, copy in enumerate(copies):
            x.fill_(float(value))
            y.fill_(-1.0)
            graph.replay()
            copy.copy_(y)
            x.fill_(-50.0)
            y.fill_(-60.0)
    for value, copy in enumerate(copies):
        expect_equal(impl, copy, chained(float(value)), "a replay runs between the work before it and the work after")


@requirement("replay.ordered-on-stream")
def test_consecutive_replays(impl: Adapter) -> None:
    """Replays of one graph on one stream run one after the other, the second on the result of the first."""
    x, y = impl.full(37, 1.0), impl.full(37, 0.0)
    graph = impl.new_graph()

    def body() -> None:
        chain(x, y)
        x.copy_(y)

    capture_between(impl, graph, body)
    with side_stream(impl):
        for _ in range(4):
            graph.replay()
    expected = 1.0
    for _ in range(4):
        expected = chained(expected)
    expect_equal(impl, x, expected, "consecutive replays on one stream run one after the other")


@requirement("replay.ordered-on-stream")
def test_input_that_goes_after_the_launch(impl: Adapter) -> None:
    """A replay that was launched still reads its input, though the tensor is gone and its memory is used again."""
    inputs, out = [impl.full(37, 0.0)], impl.full(37, 0.0)
    graph, _ = captured(impl, lambda: out.copy_(inputs[0] * 2))
    inputs[0].fill_(8.0)
    graph.replay()
    inputs.clear()
    later = [impl.full(37, 99.0) for _ in range(8)]
    expect_equal(impl, out, 16.0, "a replay runs before the work that was issued after it")
    for tensor in later:
        expect_equal(impl, tensor, 99.0, "memory that a deleted input gave back belongs to who got it")


@pytest.mark.parametrize("how", ["event", "record-wait", "wait-stream"])
@requirement("replay.ordered-through-events")
def test_waiting_stream_sees_the_replay(impl: Adapter, how: str) -> None:
    """What a second stream copies after waiting is what the replay on the first one wrote."""
    x, y = impl.full(37, 0.0), impl.full(37, 0.0)
    copies = [impl.full(37, 0.0) for _ in range(4)]
    graph = captured_chain(impl, x, y)
    first, second = impl.new_stream(), impl.new_stream()
    before = impl.current_stream()
    first.wait_stream(before)
    second.wait_stream(before)
    for value, copy in enumerate(copies):
        with impl.stream(first):
            x.fill_(float(value))
            y.fill_(-1.0)
            graph.replay()
        if how == "wait-stream":
            second.wait_stream(first)
        elif how == "record-wait":
            second.wait_event(first.record_event())
        else:
            event = impl.new_event()
            event.record(first)
            event.wait(second)
        with impl.stream(second):
            copy.copy_(y)
        first.wait_stream(second)  # before y is written again
    before.wait_stream(second)
    for value, copy in enumerate(copies):
        expect_equal(impl, copy, chained(float(value)), "a stream that waits for a replay sees what it wrote")


@requirement("replay.ordered-through-events")
def test_replay_waits_for_its_stream(impl: Adapter) -> None:
    """A replay on a stream that waits for another one sees that one's writes."""
    x, y = impl.full(37, 0.0), impl.full(37, 0.0)
    copies = [impl.full(37, 0.0) for _ in range(4)]
    graph = captured_chain(impl, x, y)
    producer, consumer = impl.new_stream(), impl.new_stream()
    before = impl.current_stream()
    producer.wait_stream(before)
    consumer.wait_stream(before)
    for value, copy in enumerate(copies):
        with impl.stream(producer):
            x.fill_(-9.0)
            x.fill_(float(value))
        consumer.wait_stream(producer)
        with impl.stream(consumer):
            graph.replay()
            copy.copy_(y)
        producer.wait_stream(consumer)  # before x is written again
    before.wait_stream(consumer)
    for value, copy in enumerate(copies):
        expect_equal(impl, copy, chained(float(value)), "a replay runs after what its stream waits for")
