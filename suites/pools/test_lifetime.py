"""How long a pool lives, and what outlives the graph that made it."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect_equal, expect_no_raise
from conformance.markers import requirement
from suites.pools.programs import capture_chain
from suites.support.captures import capture_into, captured, replay
from suites.support.memory import churn, settle
from suites.support.programs import POISON, SIZE, chain
from suites.support.streams import side_stream

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch


def _filling(result: torch.Tensor, source: torch.Tensor, steps: int) -> Callable[[], object]:
    return lambda: result.copy_(chain(source, steps))


@requirement("pools.lives-while-used")
@pytest.mark.parametrize("end", ["reset", "delete"])
@pytest.mark.parametrize("which", ["first", "second"])
def test_the_remaining_graph_of_a_pool_replays_right(impl: Adapter, end: str, which: str) -> None:
    """One graph of the pool goes, other work competes for its memory, the other still computes."""
    source = impl.full(1031, 1.0)
    result = impl.full(1031, POISON)
    pool = impl.graph_pool_handle()
    graphs = []
    for steps in (7, 4):
        graph, _ = captured(impl, _filling(result, source, steps), pool=pool)
        replay(impl, graph)
        graphs.append(graph)
    leaver = graphs.pop(0 if which == "first" else 1)
    if end == "reset":
        leaver.reset()
    del leaver, graph, _
    settle(impl)
    eager = churn(impl, POISON, (1031, 1031, 37))
    for value in (2.0, -11.0, 0.5):
        source.fill_(value)
        result.fill_(POISON)
        replay(impl, graphs[0])
        expect_equal(
            impl,
            result,
            value + (4 if which == "first" else 7),
            f"a graph replays right after the {which} graph is gone",
        )
        for tensor in eager:
            expect_equal(impl, tensor, POISON, "the pool's memory is not given away while a graph uses it")


@requirement("pools.lives-while-used")
@pytest.mark.parametrize("last", range(4))
def test_the_last_of_several_graphs_of_a_pool_replays_right(impl: Adapter, last: int) -> None:
    """Of four graphs of a pool three go, one after the other, and each time the rest still compute."""
    source = impl.full(1031, 1.0)
    result = impl.full(1031, POISON)
    pool = impl.graph_pool_handle()
    graphs = {steps: captured(impl, _filling(result, source, steps), pool=pool)[0] for steps in (7, 4, 6, 5)}
    stays = [*graphs][last]
    for leaver in [steps for steps in graphs if steps != stays]:
        impl.reset(graphs.pop(leaver))
        settle(impl)
        eager = churn(impl, POISON, (1031, 1031, 37))
        for steps, graph in graphs.items():
            source.fill_(float(leaver))
            result.fill_(POISON)
            replay(impl, graph)
            promise = f"a graph replays right with {len(graphs)} of four graphs of its pool left"
            expect_equal(impl, result, float(leaver) + steps, promise)
        for tensor in eager:
            expect_equal(impl, tensor, POISON, "the pool's memory is not given away while a graph uses it")


@requirement("pools.lives-while-used")
def test_an_output_handed_on_outlives_the_graph_that_made_it(impl: Adapter) -> None:
    """The second graph reads the first one's output after the first is gone."""
    source = impl.full(SIZE, 1.0)
    first, middle = capture_chain(impl, source, 3)
    second, out = captured(impl, lambda: middle * 2, pool=first.pool())
    first.reset()
    del first
    settle(impl)
    churn(impl, 55.0)
    for value in (8.0, -2.0, 1.5):
        middle.fill_(value)
        out.fill_(POISON)
        replay(impl, second)
        expect_equal(impl, out, 2 * value, "a live output of a graph that is gone is still the other graph's input")


@requirement("pools.reset-releases-once")
@pytest.mark.parametrize("again", ["reset", "delete"])
def test_a_graph_gives_its_pool_up_only_once(impl: Adapter, again: str) -> None:
    """The second release of one graph takes nothing from the other graph of the pool."""
    source = impl.full(1031, 1.0)
    result = impl.full(1031, POISON)
    first, _ = capture_chain(impl, source, 3)
    second, _ = captured(impl, lambda: result.copy_(chain(source, 5)), pool=first.pool())
    first.reset()
    if again == "reset":
        first.reset()
    else:
        del first
    del _
    settle(impl)
    eager = churn(impl, POISON, (1031, 1031, 37))
    for value in (3.0, -7.0, 0.25):
        source.fill_(value)
        result.fill_(POISON)
        replay(impl, second)
        expect_equal(impl, result, value + 5, f"a graph survives a reset and a {again} of the other graph of its pool")
        for tensor in eager:
            expect_equal(impl, tensor, POISON, "the pool's memory is not given away while a graph uses it")
    expect_no_raise(f"the other graph still has its own share of the pool after a reset and a {again}", second.reset)


@requirement("pools.token-outlives-owner")
@pytest.mark.parametrize("end", ["reset", "delete"])
def test_a_token_is_good_while_its_pool_is_used(impl: Adapter, end: str) -> None:
    """A third graph joins by the first graph's token after the first is gone."""
    source = impl.full(SIZE, 1.0)
    first, first_out = capture_chain(impl, source, 3)
    token = first.pool()
    second, second_out = capture_chain(impl, source, 6, pool=token)
    if end == "reset":
        first.reset()
    del first, first_out
    gc.collect()
    third, out = expect_no_raise(
        "a token is good for captures while any graph uses its pool", lambda: capture_chain(impl, source, 4, pool=token)
    )
    for value in (9.0, -4.0, 0.5):
        source.fill_(value)
        second_out.fill_(POISON)
        out.fill_(POISON)
        replay(impl, second)
        replay(impl, third)
        expect_equal(impl, second_out, value + 6, "the graph that stayed in the pool replays right")
        expect_equal(impl, out, value + 4, "the graph that joined later replays right")


@requirement("pools.handle-after-last-user")
@pytest.mark.parametrize("keep", [False, True], ids=["nothing-kept", "output-kept"])
def test_a_handle_whose_last_graph_is_gone(impl: Adapter, *, keep: bool) -> None:
    """The capture works and is right, or it is refused and the stream goes on."""
    source = impl.full(SIZE, 1.0)
    handle = impl.graph_pool_handle()
    first, old = capture_chain(impl, source, 2, pool=handle)
    replay(impl, first)
    first.reset()
    if not keep:
        del old
    graph, settings = impl.graph_for(pool=handle)
    stream = impl.new_stream()
    with side_stream(impl, stream):
        try:
            impl.capture_begin(graph, **settings)
        except Exception:
            graph = impl.new_graph()
            expect_no_raise("the stream takes a capture after a refused one", lambda: impl.capture_begin(graph))
        try:
            out = chain(source, 5)
        finally:
            graph.capture_end()
    for value in (3.0, -8.0, 0.5):
        source.fill_(value)
        out.fill_(POISON)
        replay(impl, graph)
        expect_equal(impl, out, value + 5, "a capture with a handle used before replays right")
    if keep:
        expect_equal(impl, old, 3.0, "a tensor that outlived the pool's graphs is left alone by a new one")


@requirement("pools.recapture-other-pool")
@pytest.mark.parametrize("target", ["handle", "token"])
def test_recapture_into_another_pool(impl: Adapter, target: str) -> None:
    """reset(), then a capture into a different pool; the graphs of both pools are right."""
    source = impl.full(SIZE, 1.0)
    neighbour, neighbour_out = capture_chain(impl, source, 3)
    owner, owner_out = capture_chain(impl, source, 2)
    mover = impl.new_graph()
    capture_into(impl, mover, lambda: chain(source, 6), pool=neighbour.pool())
    mover.reset()
    new_pool = impl.graph_pool_handle() if target == "handle" else owner.pool()
    out = expect_no_raise(
        "after reset() a capture into another pool works",
        lambda: capture_into(impl, mover, lambda: chain(source, 8), pool=new_pool),
    )
    for value in (5.0, -6.0, 0.25):
        source.fill_(value)
        for tensor in (neighbour_out, owner_out, out):
            tensor.fill_(POISON)
        for graph in (neighbour, owner, mover):
            replay(impl, graph)
        expect_equal(impl, neighbour_out, value + 3, "the graph in the old pool replays right")
        expect_equal(impl, owner_out, value + 2, "the graph that was in the new pool before replays right")
        expect_equal(impl, out, value + 8, "the graph captured again replays right")


@requirement("pools.tensors-outlive-graph")
@pytest.mark.parametrize("end", ["reset", "delete"])
def test_tensors_keep_their_values_after_the_graph(impl: Adapter, end: str) -> None:
    """Outputs are readable after the graph, while new memory is taken and captured around them."""
    source = impl.full(1031, 4.0)
    graph, outs = captured(impl, lambda: [chain(source, steps) for steps in (2, 5, 3)])
    replay(impl, graph)
    if end == "reset":
        graph.reset()
    del graph
    middle = outs.pop(1)
    del middle
    settle(impl)
    eager = churn(impl, POISON, (1031, 1031, 37))
    other, _ = capture_chain(impl, source, 9)
    replay(impl, other)
    for out, steps in zip(outs, (2, 3), strict=True):
        expect_equal(impl, out, 4.0 + steps, f"a captured tensor keeps its values after the {end} of its graph")
    for tensor in eager:
        expect_equal(
            impl, tensor, POISON, "a captured tensor that outlives its graph shares no memory with new tensors"
        )


@requirement("pools.tensors-writable-after-graph")
@pytest.mark.parametrize("end", ["reset", "delete"])
def test_tensors_can_be_written_after_the_graph(impl: Adapter, end: str) -> None:
    """Writing to an output after its graph reaches that output and nothing else."""
    source = impl.full(1031, 4.0)
    graph, (out, other) = captured(impl, lambda: (chain(source, 2), chain(source, 5)))
    replay(impl, graph)
    if end == "reset":
        graph.reset()
    del graph
    settle(impl)
    eager = churn(impl, POISON, (1031, 1031, 37))
    out.fill_(12.0)
    expect_equal(impl, out, 12.0, f"a captured tensor can be filled after the {end} of its graph")
    out.add_(other)
    expect_equal(impl, out, 21.0, f"a captured tensor can be computed with after the {end} of its graph")
    expect_equal(impl, other, 9.0, "writing to one captured tensor leaves the other alone")
    for tensor in eager:
        expect_equal(impl, tensor, POISON, "writing to a captured tensor reaches no other memory")
