"""A capture records the current stream's work, runs none of it, and starts and stops where it should."""

from __future__ import annotations

import random
import sys
from types import SimpleNamespace
from typing import Any

import torch

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal
from conformance.markers import requirement
from suites.support.captures import BOTH_WAYS, capture_by, captured, replay
from suites.support.host import states_of_generators
from suites.support.programs import OperatorCount, ramp
from suites.support.streams import side_stream

NOTHING_RUNS = "captured work does not run before a replay"


@BOTH_WAYS
@requirement("capture.runs-nothing")
def test_in_place_work_does_not_run(impl: Adapter, way: str) -> None:
    """A captured in-place operator leaves its tensor as it was."""
    x = impl.full(37, 5.0)
    graph = impl.new_graph()
    capture_by(impl, way, graph, lambda: x.mul_(3.0))
    expect_equal(impl, x, 5.0, NOTHING_RUNS)
    replay(impl, graph)
    expect_equal(impl, x, 15.0, "the first replay runs the captured work, once")


@BOTH_WAYS
@requirement("capture.runs-nothing")
def test_writes_into_other_tensors_do_not_run(impl: Adapter, way: str) -> None:
    """Captured copies, fills and out= results leave their destinations as they were."""
    source, by_copy, by_fill, by_out = (impl.full((3, 5), value) for value in (2.0, -1.0, -2.0, -3.0))

    def body() -> None:
        by_copy.copy_(source)
        by_fill.fill_(9.0)
        torch.add(source, source, out=by_out)

    graph = impl.new_graph()
    capture_by(impl, way, graph, body)
    for tensor, value in ((by_copy, -1.0), (by_fill, -2.0), (by_out, -3.0), (source, 2.0)):
        expect_equal(impl, tensor, value, NOTHING_RUNS)
    replay(impl, graph)
    for tensor, expected in ((by_copy, 2.0), (by_fill, 9.0), (by_out, 4.0), (source, 2.0)):
        expect_equal(impl, tensor, expected, "the first replay runs the captured work")


@BOTH_WAYS
@requirement("capture.records-current-stream")
def test_all_work_is_recorded_in_its_order(impl: Adapter, way: str) -> None:
    """A chain whose steps do not commute gives the result of its order in every replay."""
    x = impl.full(37, 0.0)

    def body() -> None:
        for step in range(1, 6):
            x.add_(step)
            x.mul_(2.0)

    graph = impl.new_graph()
    capture_by(impl, way, graph, body)
    for start in (0.0, 1.0, -3.0):
        x.fill_(start)
        replay(impl, graph)
        expected = start
        for step in range(1, 6):
            expected = (expected + step) * 2.0
        expect_equal(impl, x, expected, "a replay runs all of the captured work in the order of its capture")


@requirement("capture.records-current-stream")
def test_the_stream_current_at_begin_is_captured(impl: Adapter) -> None:
    """Leaving the capturing stream for another and coming back changes nothing for the work in between on it."""
    x = impl.full(37, 1.0)
    graph = impl.new_graph()
    with side_stream(impl) as side:
        impl.capture_begin(graph)
        try:
            x.add_(1.0)
            with impl.stream(impl.new_stream()):
                pass
            with impl.stream(side):
                x.mul_(10.0)
            graph.capture_end()
        except BaseException:
            impl.abort_capture(graph)
            raise
    expect_equal(impl, x, 1.0, NOTHING_RUNS)
    replay(impl, graph)
    expect_equal(impl, x, 20.0, "work on the capturing stream is recorded however the stream became current")


@requirement("capture.ends-recording")
def test_work_around_the_capture_runs_and_is_not_recorded(impl: Adapter) -> None:
    """On the capturing stream itself, work before begin and after end runs at once and only then."""
    before, inside, after = (impl.full(37, 0.0) for _ in range(3))
    graph = impl.new_graph()
    with side_stream(impl):
        before.add_(1.0)
        impl.capture_begin(graph)
        try:
            inside.add_(1.0)
            graph.capture_end()
        except BaseException:
            impl.abort_capture(graph)
            raise
        after.add_(1.0)
    expect_equal(impl, before, 1.0, "work before capture_begin runs as usual")
    expect_equal(impl, after, 1.0, "work after capture_end runs as usual")
    replay(impl, graph, times=3)
    expect_equal(impl, inside, 3.0, "work between capture_begin and capture_end runs once a replay")
    expect_equal(impl, before, 1.0, "work before capture_begin is no part of the graph")
    expect_equal(impl, after, 1.0, "work after capture_end is no part of the graph")


@BOTH_WAYS
@requirement("capture.host-work-once")
def test_host_code_runs_once(impl: Adapter, way: str) -> None:
    """Python statements of the body run while capturing and in no replay."""
    x = impl.full(37, 0.0)
    calls: list[int] = []

    def body() -> None:
        calls.append(len(calls))
        x.add_(1.0)

    graph = impl.new_graph()
    capture_by(impl, way, graph, body)
    expect(calls == [0], "the body runs once, to be captured", f"{len(calls)} runs")
    replay(impl, graph, times=3)
    expect(calls == [0], "a replay runs no host code", f"{len(calls) - 1} further runs of the body in 3 replays")
    expect_equal(impl, x, 3.0, "each replay repeats the device work")


@requirement("capture.host-work-once")
def test_a_replay_calls_no_captured_operator(impl: Adapter) -> None:
    """A mode that the program enters around a replay sees none of the captured operators: those are the host's work."""
    x = impl.full(37, 0.0)
    graph, _ = captured(impl, lambda: x.add_(1.0).mul_(2.0))
    impl.synchronize()
    calls = OperatorCount()
    with calls:
        graph.replay()
        impl.synchronize()
    # A replay may be an operator itself, of the implementation's own.
    again = [name for name in calls.names if name.removesuffix("_") in ("aten::add", "aten::mul")]
    promise = "a replay repeats the device work, and calls no operator of the captured program"
    expect(not again, promise, f"a mode around a replay saw {again}")
    expect_equal(impl, x, 2.0, "each replay repeats the device work")


@requirement("capture.host-work-once")
def test_the_hosts_generators_are_the_programs(impl: Adapter) -> None:
    """Random numbers that a program draws on the host are the same ones whether it replays in between or not."""
    x = impl.full(37, 0.0)
    graph, _ = captured(impl, lambda: x.add_(1.0))
    for turn in range(1, 4):
        _draw_on_the_host()  # else a generator that each replay seeds alike would seem not to move
        impl.synchronize()
        before = states_of_generators()
        replay(impl, graph)
        now = states_of_generators()
        changes = ", ".join(name for name, state in before.items() if now[name] != state)
        promise = "a replay repeats the device work, and neither seeds the host's random generators nor draws from them"
        expect(not changes, promise, f"replay {turn} changed the state of {changes}")
    expect_equal(impl, x, 3.0, "each replay repeats the device work")


def _draw_on_the_host() -> None:
    random.random()  # noqa: S311  # nobody is to guess it
    torch.rand(1)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.random()


@requirement("capture.host-work-once")
def test_host_numbers_and_choices_are_frozen(impl: Adapter) -> None:
    """A Python number and a Python branch keep the value and the side that they had at the capture."""
    x = impl.tensor(ramp((3, 5)))
    host = SimpleNamespace(scale=3.0, add=True)

    def body() -> Any:
        y = x * host.scale
        return y + 7.0 if host.add else y - 7.0

    graph, y = captured(impl, body)
    host.scale, host.add = 100.0, False
    for start in (0, 20, -4):
        x.copy_(impl.tensor(ramp((3, 5), start)))
        y.fill_(-1.0)
        replay(impl, graph)
        expect_equal(impl, y, ramp((3, 5), start) * 3.0 + 7.0, "a replay uses the host's numbers of the capture")
