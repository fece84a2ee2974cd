"""What is captured without sharing stays apart: from other graphs and from memory outside captures."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from conformance.adapter import Adapter
from conformance.checks import expect_equal
from conformance.markers import requirement
from suites.pools.programs import capture_chain
from suites.support.captures import captured, replay
from suites.support.memory import churn, settle
from suites.support.programs import POISON, SIZE, chain
from suites.support.streams import side_stream


def check_apart(impl: Adapter, graphs: list[tuple[Any, torch.Tensor, torch.Tensor]], promise: str) -> None:
    """Replay one graph after the other, in changing order; every other output must keep what it held.

    Args:
        impl: reads the outputs.
        graphs: graph, its source, and its output, which is the source plus its place in the list plus two.
        promise: what the document says.
    """
    contents = [POISON - place for place in range(len(graphs))]
    for place, (_, _, out) in enumerate(graphs):
        out.fill_(contents[place])
    orders = (range(len(graphs)), reversed(range(len(graphs))), range(1, len(graphs)))
    for number, order in enumerate(orders):
        for place in order:
            graph, source, out = graphs[place]
            value = 1000.0 * (number + 1) + 10 * place
            source.fill_(value)
            replay(impl, graph)
            contents[place] = value + place + 2
            for other, (_, _, neighbour) in enumerate(graphs):
                expect_equal(impl, neighbour, contents[other], promise)


@requirement("pools.private-outputs")
def test_replay_leaves_other_graphs_outputs_alone(impl: Adapter) -> None:
    """Three graphs with a pool each, replayed in changing orders."""
    graphs = []
    for place in range(3):
        source = impl.full(SIZE, 1.0)
        graph = impl.new_graph()
        with impl.capture(graph):
            out = source + (place + 2)
        graphs.append((graph, source, out))
    check_apart(impl, graphs, "replaying a graph leaves the outputs of graphs in other pools alone")


@requirement("pools.private-intermediates")
def test_intermediates_of_graphs_do_not_overlap(impl: Adapter) -> None:
    """Graphs with many temporaries: none of them lies in another graph's outputs."""
    graphs = []
    for place in range(3):
        source = impl.full(SIZE, 1.0)
        graph, out = capture_chain(impl, source, place + 2)
        graphs.append((graph, source, out))
    check_apart(impl, graphs, "a graph's intermediates overlap no output of a graph in another pool")


@requirement("pools.private-concurrent-replay")
def test_private_graphs_replay_at_the_same_time(impl: Adapter) -> None:
    """Replays on two streams, not ordered against each other, do not mix."""
    sources = [impl.full(1031, float(place)) for place in range(2)]
    totals = [impl.full(1031, 0.0) for _ in range(2)]
    graphs = [impl.new_graph() for _ in totals]
    for graph, source, total in zip(graphs, sources, totals, strict=True):
        with impl.capture(graph):
            total.add_(chain(source, 20))
    streams = [impl.new_stream() for _ in graphs]
    impl.synchronize()
    for _ in range(5):
        for stream, graph in zip(streams, graphs, strict=True):
            with impl.stream(stream):
                graph.replay()
    impl.synchronize()
    for place, total in enumerate(totals):
        expect_equal(impl, total, 5.0 * (20 + place), "graphs in pools of their own can be replayed at the same time")


@requirement("pools.handles-isolate")
def test_graphs_of_different_handles_stay_apart(impl: Adapter) -> None:
    """Two graphs in one handle's pool and two in another's, replayed in turns, keep to their own pools."""
    source = impl.full(SIZE, 1.0)
    left, right = impl.graph_pool_handle(), impl.graph_pool_handle()
    pairs = [
        [capture_chain(impl, source, 3, pool=left), capture_chain(impl, source, 5, pool=left)],
        [capture_chain(impl, source, 4, pool=right), capture_chain(impl, source, 6, pool=right)],
    ]
    promise = "replays in one handle's pool leave the outputs in another's alone"
    for value, (mine, others) in ((10.0, (0, 1)), (20.0, (1, 0)), (30.0, (0, 1))):
        for _, out in pairs[others]:
            out.fill_(POISON)
        source.fill_(value)
        for graph, _ in pairs[mine]:
            replay(impl, graph)
        for (_, out), steps in zip(pairs[mine], (3 + mine, 5 + mine), strict=True):
            expect_equal(impl, out, value + steps, "graphs of one handle replay right in order")
        for _, out in pairs[others]:
            expect_equal(impl, out, POISON, promise)


@requirement("pools.eager-memory-separate")
@pytest.mark.parametrize("part", ["intermediates", "outputs"])
def test_eager_memory_never_comes_from_a_graphs_pool(impl: Adapter, part: str) -> None:
    """Tensors made after the capture are not hit by replays, and do not hit the graph."""
    source = impl.full(SIZE, 1.0)
    result = impl.full(SIZE, POISON)
    graph, out = captured(impl, lambda: result.copy_(chain(source, 8)) + 1)
    if part == "outputs":
        del out
    promise = "memory allocated outside captures never comes from a live graph's pool"
    for value in (2.0, -30.0, 7.5):
        eager = churn(impl, POISON)
        source.fill_(value)
        result.fill_(POISON)
        replay(impl, graph, 2)
        expect_equal(impl, result, value + 8, "writing to memory from outside the pool does not disturb the graph")
        for tensor in eager:
            expect_equal(impl, tensor, POISON, promise)


@requirement("pools.eager-memory-separate")
def test_eager_work_between_replays_leaves_outputs_alone(impl: Adapter) -> None:
    """What is allocated and freed between two replays lies nowhere in the graph's live outputs."""
    source = impl.full(SIZE, 1.0)
    graph, out = capture_chain(impl, source, 5)
    for value in (6.0, -1.0, 3.5):
        source.fill_(value)
        replay(impl, graph)
        for filler in (POISON, 123.0):
            churn(impl, filler)
        expect_equal(impl, out, value + 5, "memory allocated outside captures overlaps no output of a graph")


@requirement("pools.eager-memory-separate")
@pytest.mark.parametrize("size", [SIZE, (1 << 18) + 37], ids=["small", "large"])
def test_eager_memory_on_the_capturing_stream(impl: Adapter, size: int) -> None:
    """What eager work allocates on the stream that captured is not memory that the capture freed."""
    stream = impl.new_stream()
    source, result = impl.full(size, 1.0), impl.full(size, POISON)
    graph, _ = captured(impl, lambda: result.copy_(chain(source, 8)), stream=stream)
    promise = "memory allocated outside captures never comes from a live graph's pool"
    for value in (2.0, -30.0, 7.5):
        with side_stream(impl, stream):
            eager = [impl.full(size, POISON) for _ in range(8)]
        impl.synchronize()
        source.fill_(value)
        result.fill_(POISON)
        replay(impl, graph, 2)
        expect_equal(impl, result, value + 8, "writing to memory from outside the pool does not disturb the graph")
        for tensor in eager:
            expect_equal(impl, tensor, POISON, promise)


@requirement("pools.handles-isolate")
def test_temporaries_of_one_handle_spare_outputs_of_another(impl: Adapter) -> None:
    """Memory that a graph freed in one handle's pool does not become another handle's outputs."""
    source = impl.full(SIZE, 1.0)

    def temporaries() -> torch.Tensor:
        summands = [source + step for step in range(6)]
        return torch.stack(summands).sum(0)

    left, total = captured(impl, temporaries, pool=impl.graph_pool_handle())
    right, outputs = captured(impl, lambda: [source * step for step in range(6)], pool=impl.graph_pool_handle())
    promise = "replays in one handle's pool leave the outputs in another's alone"
    for value in (3.0, -8.0, 20.0):
        source.fill_(value)
        replay(impl, right)
        replay(impl, left)
        expect_equal(impl, total, value * 6 + 15, "a graph in one handle's pool replays right")
        for step, output in enumerate(outputs):
            expect_equal(impl, output, value * step, promise)


@requirement("pools.survives-empty-cache")
def test_emptying_the_cache_takes_nothing_from_a_live_graph(impl: Adapter) -> None:
    """Intermediates are free in the pool, yet their memory stays mapped and reserved for the graph."""
    source = impl.full(30011, 1.0)
    result = impl.full(30011, POISON)
    graph, _ = captured(impl, lambda: result.copy_(chain(source, 6)))
    for value in (4.0, -9.0, 0.5):
        settle(impl)
        eager = churn(impl, POISON, (30011, 30011, 30011))
        source.fill_(value)
        result.fill_(POISON)
        replay(impl, graph)
        expect_equal(impl, result, value + 6, "a live graph replays right after the cache was emptied")
        for tensor in eager:
            expect_equal(impl, tensor, POISON, "memory given out after emptying the cache is not the live graph's")
        del eager, tensor


@requirement("pools.forked-memory-private")
def test_memory_of_a_forked_stream_belongs_to_the_graph(impl: Adapter) -> None:
    """Temporaries made on a forked stream are neither given to eager tensors nor overwritten by them."""
    source = impl.full(SIZE, 1.0)
    result = impl.full(SIZE, POISON)
    graph, fork = impl.new_graph(), impl.new_stream()
    with side_stream(impl) as stream:
        impl.capture_begin(graph)
        try:
            fork.wait_stream(stream)
            with impl.stream(fork):
                result.copy_(chain(source, 6))
            stream.wait_stream(fork)
        finally:
            graph.capture_end()
    for value in (3.0, -20.0, 9.5):
        with impl.stream(fork):
            eager = [impl.full(SIZE, POISON) for _ in range(6)]
        eager += churn(impl, POISON)
        impl.synchronize()
        source.fill_(value)
        result.fill_(POISON)
        replay(impl, graph, 2)
        expect_equal(impl, result, value + 6, "work on a forked stream is replayed")
        for tensor in eager:
            expect_equal(impl, tensor, POISON, "memory allocated on a forked stream belongs to the graph alone")
