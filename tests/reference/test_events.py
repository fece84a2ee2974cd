"""Events of the reference that measure time, and those that are nodes of a graph."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import pytest

import reference_impl as ref

SESSIONS = pytest.mark.parametrize("seed", [None, 0, 1, 2], ids=["synchronous", "session-0", "session-1", "session-2"])


def session(seed: int | None) -> Any:
    return contextlib.nullcontext() if seed is None else ref.session(seed)


@SESSIONS
def test_time_between_two_events(seed: int | None) -> None:
    with session(seed):
        x = ref.tensor([1.0] * 1000)
        start, end = (ref.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(50):
            x.add_(1)
        end.record()
        end.synchronize()
        first = start.elapsed_time(end)
        assert first > 0
        assert end.elapsed_time(start) == -first
        time.sleep(0.01)
        end.record()
        end.synchronize()
        assert start.elapsed_time(end) > first


@SESSIONS
def test_time_inside_a_graph(seed: int | None) -> None:
    with session(seed):
        x, graph = ref.tensor([1.0] * 1000), ref.CUDAGraph(keep_graph=True)
        start, end = (ref.Event(enable_timing=True, external=True) for _ in range(2))
        with ref.graph(graph):
            start.record()
            for _ in range(50):
                x.add_(1)
            end.record()
        graph.instantiate()
        kinds = [node["node_type"] for node in graph.get_graph_data()["nodes"]]
        assert kinds == ["event_record", *["kernel"] * 50, "event_record"]
        with pytest.raises(ref.DeviceError, match="InvalidResourceHandle"):
            start.elapsed_time(end)
        times = []
        for _ in range(3):
            graph.replay()
            ref.synchronize()
            times.append(start.elapsed_time(end))
        assert min(times) > 0
        assert len(set(times)) > 1


def test_wait_inside_a_graph() -> None:
    x, graph, event = ref.tensor([1.0]), ref.CUDAGraph(keep_graph=True), ref.Event(external=True)
    event.record()
    with ref.graph(graph):
        event.wait()
        x.add_(1)
    graph.instantiate()
    assert [node["node_type"] for node in graph.get_graph_data()["nodes"]] == ["wait_event", "kernel"]


def test_outside_of_captures_an_external_event_is_like_any_other() -> None:
    x, event, side = ref.tensor([1.0]), ref.Event(external=True), ref.Stream()
    with ref.session(1):
        x.add_(1)
        event.record()
        event.wait(side)
        with ref.stream(side):
            assert ref.read(x).tolist() == [2.0]
        assert event.query()


def test_events_without_timing_have_no_time() -> None:
    plain, timed = ref.Event(), ref.Event(enable_timing=True)
    for event in (plain, timed):
        event.record()
    for first, second in ((plain, timed), (timed, plain)):
        with pytest.raises(ValueError, match="enable_timing=True"):
            first.elapsed_time(second)


def test_events_that_were_not_reached_have_no_time() -> None:
    never, start = (ref.Event(enable_timing=True) for _ in range(2))
    start.record()
    with pytest.raises(ref.DeviceError, match="InvalidResourceHandle"):
        start.elapsed_time(never)
    with ref.session(1):
        x = ref.tensor([1.0])
        x.add_(1)
        never.record()
        with pytest.raises(ref.DeviceError, match="NotReady"):
            start.elapsed_time(never)
        never.synchronize()
        assert start.elapsed_time(never) > 0
    graph = ref.CUDAGraph()
    with ref.stream(ref.Stream()):
        graph.capture_begin()
        never.record()
        with pytest.raises(ref.DeviceError, match="CapturedEvent"):
            start.elapsed_time(never)
        graph.reset()
