"""The forms that a pool has besides an opaque token: lists of tokens, pool objects, pairs of integers."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_no_raise, fail
from conformance.markers import requirement
from suites.pools.programs import capture_chain
from suites.support.captures import replay
from suites.support.programs import POISON, SIZE


def _expect_replays(impl: Adapter, graph: Any, source: Any, out: Any, steps: int, promise: str) -> None:
    for value in (2.0, -7.0, 40.0):
        source.fill_(value)
        out.fill_(POISON)
        replay(impl, graph)
        expect_equal(impl, out, value + steps, promise)


# -- pools() ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("origin", ["own", "handle", "graph"])
@requirement("pools.list")
def test_list_of_pools(impl: Adapter, origin: str) -> None:
    """pools() lists the pool that pool() names, wherever it came from, and captures accept what is listed."""
    source = impl.full(SIZE, 1.0)
    holder, holder_out = capture_chain(impl, source, 5)
    pool = {"own": lambda: None, "handle": impl.graph_pool_handle, "graph": holder.pool}[origin]()
    graph, out = capture_chain(impl, source, 3, pool=pool)
    tokens = expect_no_raise("pools() gives the tokens of the graph's pools", graph.pools)
    expect(isinstance(tokens, list), "pools() gives a list", f"{tokens!r}")
    expect(graph.pool() in tokens, "the graph's pool is among its pools", f"{tokens!r} without {graph.pool()!r}")
    for steps, token in enumerate(tokens, 1):
        later, last = expect_no_raise(
            "a capture accepts each token of pools()", partial(capture_chain, impl, source, steps, pool=token)
        )
        _expect_replays(impl, later, source, last, steps, "a graph in a listed pool replays its work")
    _expect_replays(impl, graph, source, out, 3, "asking for the pools changes nothing")
    _expect_replays(impl, holder, source, holder_out, 5, "asking for the pools changes nothing of other graphs")


@requirement("pools.list")
def test_list_is_the_callers(impl: Adapter) -> None:
    """What a caller does to the list does not reach the graph."""
    source = impl.full(SIZE, 1.0)
    graph, out = capture_chain(impl, source, 3)
    tokens = graph.pools()
    tokens.clear()
    expect(graph.pool() in graph.pools(), "pools() lists the graph's pool each time", f"{graph.pools()!r}")
    _expect_replays(impl, graph, source, out, 3, "the graph keeps its pool")


@pytest.mark.parametrize("state", ["new", "reset"])
@requirement("pools.list-without-capture")
def test_no_pools_without_a_capture(impl: Adapter, state: str) -> None:
    """Before a capture and after a reset there is no pool to list."""
    source = impl.full(SIZE, 1.0)
    graph = impl.new_graph()
    if state == "reset":
        graph, _ = capture_chain(impl, source, 2)
        impl.synchronize()
        graph.reset()
    try:
        tokens = graph.pools()
    except RuntimeError:
        tokens = []
    except Exception as error:
        fail("pools() without a capture is a RuntimeError or an empty list", f"{type(error).__name__}: {error}")
    expect(tokens == [], "pools() without a capture is a RuntimeError or an empty list", f"{tokens!r}")
    with impl.capture(graph):
        out = source + 4.0
    _expect_replays(impl, graph, source, out, 4, "the graph can capture afterwards")


# -- MemPool ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["capture-begin", "context-manager"])
@requirement("pools.mempool-object")
def test_pool_object(impl: Adapter, how: str) -> None:
    """A MemPool is taken as a pool, by several captures, and names the same pool each time."""
    source = impl.full(SIZE, 1.0)
    pool = impl.new_mem_pool()
    captures = [
        expect_no_raise("a capture takes a MemPool", partial(capture_chain, impl, source, steps, how, pool=pool))
        for steps in (2, 3)
    ]
    for value in (2.0, -7.0, 40.0):
        source.fill_(value)
        for steps, (graph, out) in enumerate(captures, 2):
            out.fill_(POISON)
            replay(impl, graph)
            expect_equal(impl, out, value + steps, "graphs in a MemPool replay their work in order")


# -- pairs ------------------------------------------------------------------------------------------------------------


@requirement("pools.token-pair")
def test_tokens_are_pairs(impl: Adapter) -> None:
    """A captured graph's token is a pair of integers, and an equal pair does as well."""
    source = impl.full(SIZE, 1.0)
    first, out = capture_chain(impl, source, 2)
    token = first.pool()
    pair = isinstance(token, tuple) and len(token) == 2 and all(isinstance(part, int) for part in token)
    expect(pair, "a pool token is a pair of integers", f"{token!r}")
    second, last = expect_no_raise(
        "the constructor takes a pair of integers", lambda: capture_chain(impl, source, 3, pool=(token[0], token[1]))
    )
    for value in (2.0, -7.0, 40.0):
        source.fill_(value)
        for steps, (graph, result) in enumerate(((first, out), (second, last)), 2):
            result.fill_(POISON)
            replay(impl, graph)
            expect_equal(impl, result, value + steps, "graphs that share by a pair replay their work in order")
