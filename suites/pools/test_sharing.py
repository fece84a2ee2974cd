"""Several graphs in one pool: the token is a hint, the results must be right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from conformance.adapter import Adapter
from conformance.checks import expect_equal
from conformance.markers import requirement
from suites.pools.programs import capture_chain
from suites.support.captures import captured, replay
from suites.support.memory import settle, usage
from suites.support.programs import POISON, SIZE, chain

WAYS = ("context-manager", "capture-begin")


def check_in_order(
    impl: Adapter, graphs: list[tuple[Any, torch.Tensor, int]], source: torch.Tensor, promise: str
) -> None:
    """Replay the chains in the order of their captures, round after round, and look at every output at the end."""
    for value in (10.0, -4.0, 0.25):
        source.fill_(value)
        for _, out, _ in graphs:
            out.fill_(POISON)
        for graph, _, _ in graphs:
            replay(impl, graph)
        for _, out, steps in graphs:
            expect_equal(impl, out, value + steps, promise)


@requirement("pools.share-by-token")
@pytest.mark.parametrize("how", WAYS)
def test_sharing_by_another_graphs_token(impl: Adapter, how: str) -> None:
    """Three graphs, the later ones given the first one's token, replay right in order."""
    source = impl.full(SIZE, 1.0)
    first, out = capture_chain(impl, source, 6, how)
    later = [(*capture_chain(impl, source, steps, how, first.pool()), steps) for steps in (3, 9)]
    check_in_order(
        impl,
        [(first, out, 6), *later],
        source,
        "graphs that share by a graph's token replay right in the order of capture",
    )


@requirement("pools.share-by-handle")
@pytest.mark.parametrize("how", WAYS)
def test_sharing_by_a_handle(impl: Adapter, how: str) -> None:
    """Three graphs given one fresh handle replay right in order."""
    source = impl.full(SIZE, 1.0)
    handle = impl.graph_pool_handle()
    graphs = [(*capture_chain(impl, source, steps, how, handle), steps) for steps in (6, 3, 9)]
    check_in_order(impl, graphs, source, "graphs that share by a handle replay right in the order of capture")


@requirement("pools.hand-on")
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.float16], ids=["float32", "int64", "float16"])
def test_results_are_handed_on_from_graph_to_graph(impl: Adapter, dtype: torch.dtype) -> None:
    """Each graph reads the outputs of the earlier ones; several rounds, new inputs each time."""
    source = impl.full((3, 5), 1, dtype)
    pool = impl.graph_pool_handle()
    first, doubled = captured(impl, lambda: chain(source, 2) * 2, pool=pool)
    second, shifted = captured(impl, lambda: chain(doubled, 3), pool=pool)
    third, total = captured(impl, lambda: (doubled + shifted) - chain(source, 4), pool=pool)
    for value in (5, -3, 20, 0):
        source.fill_(value)
        for out in (doubled, shifted, total):
            out.fill_(-99)
        for graph in (first, second, third):
            replay(impl, graph)
        expected = 2 * (value + 2)
        promise = "a graph reads what the graph before it in the pool has just written"
        expect_equal(impl, doubled, expected, promise)
        expect_equal(impl, shifted, expected + 3, promise)
        expect_equal(impl, total, 2 * expected + 3 - (value + 4), promise)


@requirement("pools.hand-on")
def test_hand_on_without_waiting_between_graphs(impl: Adapter) -> None:
    """Replays that follow each other on one stream hand results on without any host synchronisation."""
    source = impl.full(SIZE, 0.0)
    total = impl.full(SIZE, 0.0)
    pool = impl.graph_pool_handle()
    graphs, value = [], source
    for steps in (2, 5, 3):
        graph, value = capture_chain(impl, value, steps, pool=pool)
        graphs.append(graph)
    last, _ = captured(impl, lambda: total.add_(value), pool=pool)
    graphs.append(last)
    for _ in range(5):
        for graph in graphs:
            graph.replay()
        source.add_(1.0)
    impl.synchronize()
    expect_equal(impl, total, float(sum(10 + k for k in range(5))), "replays on one stream run one after the other")


@requirement("pools.forward-backward")
def test_forward_and_backward_share_a_pool(impl: Adapter) -> None:
    """The backward graph reads what the forward graph saved in the pool."""
    weight = impl.full(SIZE, 3.0).requires_grad_()
    source = impl.full(SIZE, 1.0)
    seed = impl.full(SIZE, 1.0)
    pool, stream = impl.graph_pool_handle(), impl.new_stream()

    def forward() -> torch.Tensor:
        return (weight * (source + 1)) * weight

    def backward() -> torch.Tensor:
        return torch.autograd.grad(out, weight, seed)[0]

    # Backward work runs on the stream of its forward work, so one stream serves both captures.
    first, out = captured(impl, forward, pool=pool, stream=stream)
    second, gradient = captured(impl, backward, pool=pool, stream=stream)
    for value in (4.0, -2.0, 0.5):
        source.fill_(value)
        seed.fill_(value + 1)
        gradient.fill_(POISON)
        replay(impl, first)
        replay(impl, second)
        expect_equal(impl, out, 9 * (value + 1), "the forward graph computes its result")
        expect_equal(impl, gradient, 6 * (value + 1) * (value + 1), "the backward graph computes the gradient")


@requirement("pools.live-outputs-kept")
def test_later_captures_leave_live_outputs_alone(impl: Adapter) -> None:
    """An output in use is safe from the captures that follow in its pool, and from their replays."""
    source = impl.full(SIZE, 1.0)
    first, first_out = capture_chain(impl, source, 4)
    replay(impl, first)
    expect_equal(impl, first_out, 5.0, "the first graph computes its result")
    later = []
    for steps in (1, 5, 2, 8):
        later.append(capture_chain(impl, source, steps, pool=first.pool()))
        expect_equal(impl, first_out, 5.0, "a later capture into the pool leaves a live output alone")
    source.fill_(50.0)
    for graph, _ in later:
        replay(impl, graph, 2)
        expect_equal(impl, first_out, 5.0, "replays of a later graph of the pool leave a live output alone")


@requirement("pools.live-outputs-kept")
def test_a_view_keeps_an_output_from_later_captures(impl: Adapter) -> None:
    """A view counts as a use of the output: its memory is not given to the next capture."""
    source = impl.full(SIZE, 1.0)
    first, view = captured(impl, lambda: chain(source, 4)[5:], pool=None)
    replay(impl, first)
    second, out = capture_chain(impl, source, 6, pool=first.pool())
    source.fill_(50.0)
    replay(impl, second, 2)
    expect_equal(impl, out, 56.0, "the later graph computes its result")
    expect_equal(impl, view, 5.0, "a view of an output keeps the output's memory from later graphs of the pool")


@requirement("pools.dropped-outputs")
def test_outputs_dropped_between_captures(impl: Adapter) -> None:
    """The pool may give a dropped output's memory to the next capture: replays in order stay right."""
    source = impl.full(SIZE, 1.0)
    result = impl.full(SIZE, POISON)
    pool = impl.graph_pool_handle()
    first, first_out = captured(impl, lambda: result.copy_(chain(source, 3)) + 1, pool=pool)
    del first_out
    second, out = capture_chain(impl, source, 7, pool=pool)
    for value in (3.0, -6.0, 12.5):
        source.fill_(value)
        result.fill_(POISON)
        out.fill_(POISON)
        replay(impl, first)
        replay(impl, second)
        expect_equal(impl, result, value + 3, "the graph whose output was dropped still computes")
        expect_equal(impl, out, value + 7, "the graph captured after an output was dropped computes its result")


@requirement("pools.independent-any-order")
@pytest.mark.parametrize("order", [(2, 0, 1), (1, 1, 0, 2), (0, 2, 0)], ids=lambda order: "-".join(map(str, order)))
def test_independent_graphs_of_a_pool_in_any_order(impl: Adapter, order: tuple[int, ...]) -> None:
    """Each result is right immediately after its own replay, whatever was replayed before."""
    source = impl.full(SIZE, 1.0)
    pool = impl.graph_pool_handle()
    graphs = [capture_chain(impl, source, steps, pool=pool) for steps in (4, 7, 2)]
    for round_number in range(2):
        for number, index in enumerate(order):
            value = 100.0 * round_number + number
            source.fill_(value)
            graph, out = graphs[index]
            out.fill_(POISON)
            replay(impl, graph)
            expect_equal(
                impl, out, value + (4, 7, 2)[index], "independent graphs of one pool replay right in any order"
            )


@requirement("pools.sharing-saves-memory")
def test_memory_of_shared_and_of_private_pools(impl: Adapter, observe: Callable[[str, Any], None]) -> None:
    """Record what four graphs reserve with a pool each and with one pool for all."""
    source = impl.full(30011, 1.0)
    for name, pool in (("private", None), ("shared", impl.graph_pool_handle())):
        before = usage(impl)
        graphs = [capture_chain(impl, source, 4, pool=pool)[0] for _ in range(4)]
        settle(impl)
        observe(f"{name}_reserved_bytes", impl.memory_reserved() - before[1])
        for graph in graphs:
            graph.reset()
        del graphs, graph
