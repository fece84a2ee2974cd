"""Allocated and reserved memory: back to where it was once the graphs and their tensors are gone.

Every measure is taken after a first round of the same work, because an implementation may keep what it allocates once
per process, and after the cache was emptied.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
import torch

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal
from conformance.markers import requirement
from suites.pools.programs import capture_chain
from suites.support.captures import capture_between, capture_into, captured, replay
from suites.support.memory import check_returns, settle, usage, usage_since
from suites.support.programs import chain

SIZE = 30011
#: Elements of a tensor that is larger than the segments that allocators keep for small ones.
LARGE = (1 << 20) + 37


@requirement("pools.memory-returns-after-reset")
@pytest.mark.parametrize("outputs_first", [True, False], ids=["outputs-first", "graph-first"])
def test_memory_returns_after_reset(impl: Adapter, *, outputs_first: bool) -> None:
    """Capture, replay, reset and drop the output, in both orders."""
    source = impl.full(SIZE, 1.0)
    graph = impl.new_graph()

    def work() -> None:
        out = capture_into(impl, graph, lambda: chain(source, 4))
        replay(impl, graph, 2)
        if outputs_first:
            del out
        graph.reset()

    check_returns(impl, work, "memory returns to its baseline after reset()")


@requirement("pools.memory-returns-after-reset")
def test_memory_returns_while_the_graph_object_lives(impl: Adapter) -> None:
    """After reset() nothing of the capture is left in the object, though it is neither deleted nor captured into."""
    source = impl.full(LARGE, 1.0)
    size = source.nbytes

    def work() -> Any:
        graph, out = captured(impl, lambda: chain(source, 3))
        replay(impl, graph)
        del out
        impl.reset(graph)
        return graph

    work()
    before = usage(impl)  # without the graph of the first round
    _graph = work()
    after = usage_since(impl, before)
    promise = "memory returns at reset(), not later"
    # An object may own a few bytes of its own, for its random state.
    for kind, earlier, now in zip(("allocated", "reserved"), before, after, strict=True):
        expect(now - earlier < size, promise, f"{kind} bytes {earlier} before the capture, {now} after reset()")


@requirement("pools.memory-returns-after-delete")
def test_memory_returns_after_deletion(impl: Adapter) -> None:
    """Capture, replay and drop graph and output without a reset."""
    source = impl.full(SIZE, 1.0)

    def work() -> None:
        graph, _ = capture_chain(impl, source, 4)
        replay(impl, graph, 2)

    check_returns(impl, work, "memory returns to its baseline after the graph object is deleted")


@requirement("pools.shared-memory-returns", "pools.reset-releases-once")
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)], ids=["first-to-last", "last-first"])
def test_memory_of_a_shared_pool_returns(impl: Adapter, order: tuple[int, ...]) -> None:
    """Three graphs in one pool, reset in different orders."""
    source = impl.full(SIZE, 1.0)

    def work() -> None:
        # Where only graphs have tokens, a handle would be one of a graph that stays.
        pool = None if impl.dialect == "accelerator" else impl.graph_pool_handle()
        graphs: list[Any] = []
        for steps in (4, 2, 6):
            graphs.append(capture_chain(impl, source, steps, pool=pool)[0])
            pool = graphs[0].pool() if pool is None else pool
        for graph in graphs:
            replay(impl, graph)
        for place in order:
            graphs[place].reset()

    check_returns(impl, work, "memory returns to its baseline after the last graph of a shared pool is reset")


@requirement("pools.memory-returns-after-error")
def test_memory_returns_after_an_error_in_the_captured_code(impl: Adapter) -> None:
    """The captured code allocates, then raises."""
    source = impl.full(SIZE, 1.0)

    class Unfinished(Exception):
        """What the captured code raises."""

    def body() -> None:
        result = chain(source, 4)
        raise Unfinished(str(result.shape))

    def work() -> None:
        graph = impl.new_graph()
        with contextlib.suppress(Unfinished):
            capture_into(impl, graph, body)
        graph.reset()

    check_returns(impl, work, "memory returns to its baseline after a capture whose code raised was reset")


@requirement("pools.no-growth-over-graphs")
@pytest.mark.parametrize("how", ["new-graphs", "one-graph-again"])
def test_memory_does_not_grow_over_many_graphs(impl: Adapter, how: str) -> None:
    """Twenty captures leave what one leaves."""
    source = impl.full(SIZE, 1.0)
    graph = impl.new_graph()

    def once() -> None:
        target = graph if how == "one-graph-again" else impl.new_graph()
        out = capture_into(impl, target, lambda: chain(source, 3))
        replay(impl, target)
        del out
        target.reset()

    once()
    before = usage(impl)
    for _ in range(20):
        once()
    after = usage_since(impl, before)
    promise = "capturing and discarding graphs in a loop does not grow memory"
    expect(after[0] == before[0], promise, f"allocated bytes {before[0]} after one capture, {after[0]} after 21")
    expect(after[1] <= before[1], promise, f"reserved bytes {before[1]} after one capture, {after[1]} after 21")


@requirement("pools.no-growth-over-graphs")
def test_a_pool_does_not_grow_over_graphs_of_two_kinds(impl: Adapter) -> None:
    """By turns a graph makes two tensors, or one of their size together, in a pool that another graph keeps alive."""
    source, whole = impl.full(SIZE, 1.0), impl.full(2 * SIZE, 1.0)
    # One for all captures: memory that was freed on another stream need not be used again.
    stream = impl.new_stream()
    pool = impl.graph_pool_handle()
    keeper, keeper_out = capture_chain(impl, source, 1, pool=pool)

    def two_graphs() -> None:
        for body in (lambda: (source + 1, source + 2), lambda: whole + 3):
            graph, settings = impl.graph_for(pool=pool)
            out = capture_between(impl, graph, body, stream=stream, **settings)
            replay(impl, graph)
            del out
            graph.reset()

    two_graphs()
    before = usage(impl)
    for _ in range(20):
        two_graphs()
    after = usage_since(impl, before)
    promise = "capturing and discarding graphs in a pool that lives on does not grow memory"
    expect(after[0] == before[0], promise, f"allocated bytes {before[0]} after two graphs, {after[0]} after 42")
    expect(after[1] <= before[1], promise, f"reserved bytes {before[1]} after two graphs, {after[1]} after 42")
    replay(impl, keeper)
    expect_equal(impl, keeper_out, 2.0, "the graph that keeps the pool alive replays as before")


@requirement("pools.replay-allocates-nothing")
def test_replays_allocate_nothing(impl: Adapter) -> None:
    """Memory is the same after fifty replays as after one."""
    source = impl.full(SIZE, 1.0)
    graph, out = captured(impl, lambda: chain(source, 5))
    replay(impl, graph)
    before = impl.memory_allocated(), impl.memory_reserved()
    replay(impl, graph, 50)
    after = impl.memory_allocated(), impl.memory_reserved()
    expect(
        after == before,
        "replays allocate nothing",
        f"allocated and reserved bytes {before} after one replay, {after} after 51, with an output of {out.nbytes}",
    )


OUTPUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "many-elements": lambda source: chain(source, 3),
    "one-byte": lambda source: (source > 0).any(),
    "grown": lambda source: torch.amax(source, dim=0, out=source.new_empty(0)),
}


@requirement("pools.live-output-counted")
@pytest.mark.parametrize("output", OUTPUTS)
def test_an_output_that_outlives_its_graph_is_counted(impl: Adapter, output: str) -> None:
    """The output's bytes are allocated until it is dropped, and not after."""
    source = impl.full(SIZE, 1.0)
    body = OUTPUTS[output]
    warm, _ = captured(impl, lambda: body(source))
    warm.reset()
    del warm, _
    before = usage(impl)
    graph, out = captured(impl, lambda: body(source))
    replay(impl, graph)
    graph.reset()
    settle(impl)
    current, size = impl.memory_allocated(), out.nbytes
    expect(
        current >= before[0] + size,
        "an output that outlives its graph counts as allocated",
        f"allocated bytes grew by {current - before[0]} with an output of {size} bytes alive",
    )
    del out, graph  # the object itself may own a few bytes, for its random state
    after = usage_since(impl, before)
    expect(
        after[0] == before[0],
        "an output's memory is given back when it is dropped after its graph",
        f"allocated bytes {before[0]} before the capture, {after[0]} after",
    )
