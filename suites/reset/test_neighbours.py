"""What reset() must leave alone: inputs, other graphs, and work that is already under way."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from conformance.adapter import Adapter
from conformance.checks import expect_equal, expect_no_raise
from conformance.markers import requirement
from suites.reset.programs import collect_garbage, each_mode
from suites.support.captures import capture_into, captured, replay
from suites.support.outcomes import caught
from suites.support.programs import Counter
from suites.support.streams import side_stream, stream_kept

EACH_MODE = each_mode("reset.kept-graphs")


@requirement("reset.leaves-others-alone")
@EACH_MODE
def test_other_graph_goes_on(impl: Adapter, *, keep_graph: bool | None) -> None:
    """Another graph, with a pool of its own, replays as before."""
    x = impl.full(37, 0.0)
    first, _ = captured(impl, lambda: x - 1, keep_graph=keep_graph)
    second, out = captured(impl, lambda: (x + 1) * 2, keep_graph=keep_graph)
    replay(impl, first)
    replay(impl, second)
    first.reset()
    for value in (3.0, -4.0, 8.0):
        x.fill_(value)
        out.fill_(99.0)
        replay(impl, second)
        expect_equal(impl, out, (value + 1) * 2, "reset() of one graph leaves another alone")


@requirement("reset.shared-pool-survives")
@pytest.mark.parametrize("ending", ["reset", "deleted"])
@pytest.mark.parametrize("which", ["first", "second"])
def test_graph_sharing_the_pool_goes_on(impl: Adapter, which: str, ending: str) -> None:
    """A graph that shares the pool replays as before, whichever of the two goes; the pool is not handed out."""
    x = impl.full(1003, 0.0)
    first, first_out = captured(impl, lambda: (x + 1) * 2)
    second, second_out = captured(impl, lambda: (x + 3) * 5, pool=first.pool())
    replay(impl, first)
    replay(impl, second)
    if which == "first":
        target, survivor, out, shift, factor = first, second, second_out, 3, 5
        del first_out, first, second
    else:
        target, survivor, out, shift, factor = second, first, first_out, 1, 2
        del second_out, first, second
    if ending == "reset":
        target.reset()
    del target
    collect_garbage()
    impl.empty_cache()
    others = [impl.full(1003, -1.0) for _ in range(4)]
    for value in (3.0, -4.0, 8.0):
        x.fill_(value)
        out.fill_(99.0)
        replay(impl, survivor)
        expect_equal(impl, out, (value + shift) * factor, "a pool lives as long as one of its graphs")
        for other in others:
            expect_equal(impl, other, -1.0, "memory of a pool that a graph still uses is not handed out")


@requirement("reset.shared-pool-survives")
@pytest.mark.parametrize("ending", ["reset", "deleted"])
def test_intermediates_in_the_shared_pool_stay(impl: Adapter, ending: str) -> None:
    """A pool in which no tensor is alive, only what a graph computes on the way, lives as long as that graph."""
    x, result = impl.full(1003, 0.0), impl.full(1003, 0.0)
    holder = [captured(impl, lambda: (x + 1) * 2)[0]]
    survivor, _ = captured(impl, lambda: result.copy_((x + 3) * 5), pool=holder[0].pool())
    replay(impl, holder[0])
    replay(impl, survivor)
    if ending == "reset":
        holder[0].reset()
    holder.clear()
    collect_garbage()
    impl.empty_cache()
    others = [impl.full(1003, -1.0) for _ in range(8)]
    for value in (3.0, -4.0, 8.0):
        x.fill_(value)
        result.fill_(99.0)
        replay(impl, survivor)
        expect_equal(impl, result, (value + 3) * 5, "a pool lives as long as one of its graphs")
        for other in others:
            expect_equal(impl, other, -1.0, "memory of a pool that a graph still uses is not handed out")


@requirement("reset.library-state-survives")
def test_other_graph_with_matmul_goes_on(impl: Adapter) -> None:
    """Of two graphs with matrix products captured on one stream, one replays correctly after the other was reset."""
    # Small integers: every product and sum is exact in float32, whatever the order of summation.
    left = torch.arange(37 * 29, dtype=torch.float32).reshape(37, 29) % 5 - 2
    right = torch.arange(29 * 31, dtype=torch.float32).reshape(29, 31) % 7 - 3
    a, b = impl.tensor(left), impl.tensor(right)
    with side_stream(impl) as side:
        torch.matmul(a, b)  # libraries make their handles and workspaces outside a capture
    impl.synchronize()
    first, second = impl.new_graph(), impl.new_graph()
    capture_into(impl, first, lambda: a @ b, stream=side)
    out = capture_into(impl, second, lambda: (a @ b) * 2, stream=side)
    replay(impl, first)
    first.reset()
    others = [impl.full((37, 31), -1.0) for _ in range(4)]
    for turn in range(3):
        a.copy_(impl.tensor(left + turn))
        out.fill_(99.0)
        replay(impl, second)
        expect_equal(impl, out, ((left + turn) @ right) * 2, "reset() of one graph leaves another alone")
        expect_equal(impl, others[turn], -1.0, "a replay writes nothing but what it captured")


@requirement("reset.leaves-others-alone")
@EACH_MODE
def test_inputs_are_left_alone(impl: Adapter, *, keep_graph: bool | None) -> None:
    """reset() and the end of the object leave the tensors that the capture read and wrote in place as they are."""
    counter = Counter(impl)
    weights = impl.tensor([[1.5, -2.5], [3.5, 4.5]])

    def body() -> torch.Tensor:
        counter.body()
        return weights.sum()

    graph, _ = captured(impl, body, keep_graph=keep_graph)
    replay(impl, graph, 2)
    graph.reset()
    del graph
    collect_garbage()
    counter.expect_runs(2, "reset() leaves tensors outside the graph's pool as they are")
    expect_equal(impl, weights, [[1.5, -2.5], [3.5, 4.5]], "reset() leaves the inputs as they are")


@requirement("reset.replays-under-way-finish")
@EACH_MODE
@pytest.mark.parametrize("ending", ["reset", "deleted"])
def test_replays_under_way_are_finished(impl: Adapter, ending: str, *, keep_graph: bool | None) -> None:
    """reset(), or the end of the object, straight after replay() loses none of the work under way."""
    counter = Counter(impl)

    def body() -> None:
        for _ in range(30):
            counter.body()

    graph, _ = captured(impl, body, keep_graph=keep_graph)
    graph.replay()
    graph.replay()
    if ending == "reset":
        graph.reset()
    del graph
    collect_garbage()
    counter.expect_runs(60, "replays that were launched are finished though their graph is gone")


@requirement("reset.deletion-spares-captures")
@EACH_MODE
def test_deletion_during_a_capture(impl: Adapter, *, keep_graph: bool | None) -> None:
    """A graph that goes while another captures, as garbage does at any moment, spoils that capture aloud or not."""
    other_counter, counter = Counter(impl), Counter(impl)
    holder = [captured(impl, other_counter.body, keep_graph=keep_graph)[0]]
    replay(impl, holder[0], 2)
    graph = impl.new_graph()
    with stream_kept(impl):  # which stream a failed capture leaves current is decided elsewhere
        failure = caught(lambda: _capture_around(impl, graph, counter, holder))
    if failure is None:
        replay(impl, graph, 3)
        counter.expect_runs(6, "a capture that ends well has the work before and after the other graph went")
    other_counter.expect_runs(2, "a graph that is gone runs no more")


@requirement("reset.deletion-spares-captures")
@EACH_MODE
def test_deletion_of_an_unused_graph_during_a_capture(impl: Adapter, *, keep_graph: bool | None) -> None:
    """A graph that never captured takes nothing from the runtime, and nothing from another's capture when it goes."""
    counter, graph = Counter(impl), impl.new_graph()
    holder = [impl.new_graph(keep_graph)]
    promise = "an object that never captured leaves a capture under way intact when it goes"
    expect_no_raise(promise, lambda: _capture_around(impl, graph, counter, holder))
    replay(impl, graph, 3)
    counter.expect_runs(6, "the capture has the work before and after the other graph went")


def _capture_around(impl: Adapter, graph: Any, counter: Counter, holder: list[Any]) -> None:
    """Capture the counter's work twice, and let go of what `holder` has in between."""

    def body() -> None:
        counter.body()
        holder.clear()
        counter.body()

    capture_into(impl, graph, body)
