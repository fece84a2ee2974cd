"""The forms that a pool has besides an opaque token: lists of tokens, pool objects, pairs of integers."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_no_raise
from conformance.markers import requirement
from suites.pools.programs import capture_chain
from suites.support.captures import replay
from suites.support.outcomes import ACCIDENTS, caught, in_words
from suites.support.programs import POISON, SIZE
from suites.support.tokens import equal, repeated


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
    """pools() lists a pool, wherever the graph's own came from, and captures accept what is listed."""
    source = impl.full(SIZE, 1.0)
    holder, holder_out = capture_chain(impl, source, 5)
    pool = {"own": lambda: None, "handle": impl.graph_pool_handle, "graph": holder.pool}[origin]()
    graph, out = capture_chain(impl, source, 3, pool=pool)
    tokens = expect_no_raise("pools() gives the tokens of the graph's pools", graph.pools)
    expect(isinstance(tokens, list), "pools() gives a list", f"{tokens!r}")
    expect(bool(tokens), "a graph that holds a capture keeps a pool", "pools() gives an empty list")
    for steps, token in enumerate(tokens, 1):
        later, last = expect_no_raise(
            "a capture accepts each token of pools()", partial(capture_chain, impl, source, steps, pool=token)
        )
        _expect_replays(impl, later, source, last, steps, "a graph in a listed pool replays its work")
    _expect_replays(impl, graph, source, out, 3, "asking for the pools changes nothing")
    _expect_replays(impl, holder, source, holder_out, 5, "asking for the pools changes nothing of other graphs")


@requirement("pools.list-has-own")
def test_list_has_the_graphs_pool(impl: Adapter) -> None:
    """pools() lists the pool that pool() names, also when a caller emptied the list before."""
    source = impl.full(SIZE, 1.0)
    graph, out = capture_chain(impl, source, 3)
    for _ in range(2):
        tokens, own = graph.pools(), graph.pool()
        expect(bool(tokens), "pools() lists the graph's pool each time", "it gives an empty list")
        missing = all(equal(own, token) is False for token in tokens)
        expect(not missing, "pools() lists the graph's pool each time", f"{tokens!r} without {own!r}")
        tokens.clear()
    _expect_replays(impl, graph, source, out, 3, "the graph keeps its pool")


@pytest.mark.parametrize("origin", ["own", "graph"])
@requirement("pools.list-own-only")
def test_list_has_no_other_pools(impl: Adapter, origin: str) -> None:
    """pools() repeats no token, and lists neither another graph's private pool nor a handle that nobody used."""
    source = impl.full(SIZE, 1.0)
    earlier, _earlier_out = capture_chain(impl, source, 2)
    holder, _holder_out = capture_chain(impl, source, 5)
    graph, _out = capture_chain(impl, source, 3, pool=None if origin == "own" else holder.pool())
    later, _later_out = capture_chain(impl, source, 4)
    strangers = [earlier.pool(), later.pool(), impl.graph_pool_handle()]
    if origin == "own":
        strangers.append(holder.pool())
    tokens = graph.pools()
    expect(not repeated(tokens), "pools() lists each pool once", f"{tokens!r}")
    foreign = [token for token in tokens if any(equal(token, other) for other in strangers)]
    expect(not foreign, "pools() lists the pools that the graph keeps", f"{foreign!r} are pools of others alone")


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
    promise = "pools() without a capture is refused or gives a list of tokens that captures accept"
    tokens: list[Any] = []
    error = caught(lambda: tokens.extend(graph.pools()))
    expect(not isinstance(error, ACCIDENTS), promise, in_words(error))
    for steps, token in enumerate(tokens, 1):
        later, last = expect_no_raise(promise, partial(capture_chain, impl, source, steps, pool=token))
        _expect_replays(impl, later, source, last, steps, promise)
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


@requirement("pools.mempool-names-pool")
def test_token_of_a_pool_object(impl: Adapter) -> None:
    """Where a graph names the pool whose token it was given, those that are given one MemPool name that pool."""
    source = impl.full(SIZE, 1.0)
    handle = impl.graph_pool_handle()
    sharer, _sharer_out = capture_chain(impl, source, 2, pool=handle)
    if equal(sharer.pool(), handle) is not True:
        return  # a pool is no more than a hint
    pool = impl.new_mem_pool()
    (first, _first_out), (second, _second_out) = (capture_chain(impl, source, steps, pool=pool) for steps in (2, 3))
    promise = "a graph that is captured into a MemPool names that pool"
    expect(equal(first.pool(), second.pool()) is not False, promise, f"{first.pool()!r} and {second.pool()!r}")
    named = getattr(pool, "id", None)
    if named is not None:
        expect(equal(first.pool(), named) is not False, promise, f"{first.pool()!r}, and its id is {named!r}")


# -- pairs ------------------------------------------------------------------------------------------------------------


@requirement("pools.token-pair")
def test_tokens_and_equal_pairs(impl: Adapter) -> None:
    """A captured graph's token is taken, and where it is a pair of integers an equal pair does as well."""
    source = impl.full(SIZE, 1.0)
    captures = [capture_chain(impl, source, 2)]
    token = captures[0][0].pool()
    pools = [token]
    if isinstance(token, tuple) and len(token) == 2 and all(isinstance(part, int) for part in token):
        pools.append((token[0], token[1]))
    for steps, pool in enumerate(pools, 3):
        promise = "the constructor takes what another graph's pool() gives, and an equal pair of integers"
        captures.append(expect_no_raise(promise, partial(capture_chain, impl, source, steps, pool=pool)))
    for value in (2.0, -7.0, 40.0):
        source.fill_(value)
        for steps, (graph, result) in enumerate(captures, 2):
            result.fill_(POISON)
            replay(impl, graph)
            expect_equal(impl, result, value + steps, "graphs that share by a token replay their work in order")
