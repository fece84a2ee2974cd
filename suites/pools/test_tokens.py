"""Tokens: what pool() and graph_pool_handle() hand out, and when."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from conformance.adapter import Adapter, in_thread
from conformance.checks import expect, expect_equal, expect_no_raise
from conformance.errors import Unsupported
from conformance.markers import requirement
from suites.pools.programs import capture_chain
from suites.support.captures import capture_into, replay
from suites.support.memory import pool_of
from suites.support.needs import need_capability
from suites.support.outcomes import ACCIDENTS, caught, in_words
from suites.support.programs import POISON, SIZE, chain
from suites.support.tokens import equal, repeated


@requirement("pools.token-after-capture")
def test_pool_names_the_pool_of_a_captured_graph(impl: Adapter) -> None:
    """pool() works after a capture, and what it returns starts another capture."""
    source = impl.full(SIZE, 1.0)
    first, _ = capture_chain(impl, source, 2)
    token = expect_no_raise("pool() returns a token after a capture", first.pool)
    expect(token is not None, "pool() returns a token after a capture", "pool() returned None, which names no pool")
    second, out = expect_no_raise(
        "a token from pool() starts another capture", lambda: capture_chain(impl, source, 3, pool=token)
    )
    out.fill_(POISON)
    source.fill_(4.0)
    replay(impl, second)
    expect_equal(impl, out, 7.0, "a graph captured with another graph's token replays right")


@requirement("pools.token-stable")
def test_pool_keeps_naming_the_same_pool(impl: Adapter) -> None:
    """pool() is the same before and after replays and after another graph joined."""
    promise = "pool() names the same pool while the graph holds its capture"
    source = impl.full(SIZE, 1.0)
    graph, _ = capture_chain(impl, source, 2)
    token = graph.pool()
    expect(equal(graph.pool(), token) is not False, promise, "two calls in a row returned tokens that differ")
    replay(impl, graph, 2)
    expect(equal(graph.pool(), token) is not False, promise, "the token changed over two replays")
    sharer, out = capture_chain(impl, source, 3, pool=token)
    seen = "the token changed when another graph was captured into the pool"
    expect(equal(graph.pool(), token) is not False, promise, seen)
    sharer.reset()
    seen = "the token changed when another graph of the pool was reset"
    expect(equal(graph.pool(), token) is not False, promise, seen)
    del out
    _expect_usable(impl, graph.pool(), promise)


@requirement("pools.token-names-memory")
@pytest.mark.parametrize("origin", ["graph", "handle"])
def test_memory_is_in_the_pool_that_the_token_names(impl: Adapter, origin: str) -> None:
    """Each of several graphs that were given a token has its memory where the token says, or names another pool."""
    source = impl.full(SIZE, 1.0)
    owner, owner_out = capture_chain(impl, source, 2)
    if equal(pool_of(impl, owner_out), owner.pool()) is not True:
        raise Unsupported("the allocator's snapshot does not name pools by their tokens")
    pool = owner.pool() if origin == "graph" else impl.graph_pool_handle()
    sharers = [capture_chain(impl, source, steps, pool=pool) for steps in range(3, 8)]
    for sharer, out in sharers:
        place, token = pool_of(impl, out), sharer.pool()
        expect(
            equal(place, token) is True,
            "pool() names the pool that the graph's memory is in",
            f"pool() gives {token!r}, and the memory is in {place!r}",
        )


@requirement("pools.token-names-memory")
def test_memory_is_there_after_recapture(impl: Adapter) -> None:
    """Each capture of one object, between which it is reset, takes its memory in the pool that pool() names by then."""
    source = impl.full(SIZE, 1.0)
    graph, outs = impl.new_graph(), []
    for steps in (2, 3, 4):
        outs.append(capture_into(impl, graph, partial(chain, source, steps)))
        place, token = pool_of(impl, outs[-1]), graph.pool()
        if steps == 2 and equal(place, token) is not True:
            raise Unsupported("the allocator's snapshot does not name pools by their tokens")
        expect(
            equal(place, token) is True,
            "pool() names the pool that the graph's memory is in, also after reset() and a new capture",
            f"pool() gives {token!r}, and the memory is in {place!r}",
        )
        graph.reset()


@requirement("pools.private-tokens-differ")
def test_graphs_without_a_pool_have_tokens_of_their_own(impl: Adapter) -> None:
    """Three private pools and a handle have four different tokens."""
    source = impl.full(SIZE, 1.0)
    graphs = [capture_chain(impl, source, steps)[0] for steps in (1, 2, 3)]
    tokens = [impl.graph_pool_handle(), *(graph.pool() for graph in graphs)]
    expect(
        not repeated(tokens),
        "each graph captured without a pool has a pool, and so a token, of its own",
        f"tokens of a fresh handle and of three live graphs: {tokens!r}",
    )


@requirement("pools.handle-unique")
def test_pool_handles_are_never_handed_out_twice(impl: Adapter) -> None:
    """Handles stay unique while graphs come and go."""
    source = impl.full(SIZE, 1.0)
    handles = [impl.graph_pool_handle() for _ in range(3)]
    graph, _ = capture_chain(impl, source, 2, pool=handles[0])
    handles.append(impl.graph_pool_handle())
    graph.reset()
    handles += [impl.graph_pool_handle() for _ in range(300)]  # more than a byte counts
    expect(not repeated(handles), "each pool handle is a new token", f"{len(handles)} handles: {handles!r}"[:300])


@requirement("pools.handle-unique")
def test_pool_handles_of_several_threads(impl: Adapter) -> None:
    """A handle that one thread gets is none that another one got."""
    need_capability(impl, "threads")
    handles = [impl.graph_pool_handle(), *(in_thread(impl.graph_pool_handle) for _ in range(3))]
    expect(not repeated(handles), "each pool handle is a new token, in whichever thread", f"handles: {handles!r}")


def _expect_usable(impl: Adapter, token: Any, promise: str) -> None:
    """Reject unless a capture with the token does its work."""
    source = impl.full(SIZE, 1.0)
    graph, out = expect_no_raise(promise, lambda: capture_chain(impl, source, 5, pool=token))
    for value in (4.0, -9.0):
        source.fill_(value)
        out.fill_(POISON)
        replay(impl, graph)
        expect_equal(impl, out, value + 5, promise)


def _expect_refused_or_usable(impl: Adapter, graph: Any, when: str) -> list[Any]:
    """Reject unless pool() of a graph without a capture is refused, or gives a token that a capture can use.

    Returns:
        The token, if there is one.
    """
    promise = f"pool() {when} is refused or gives a token that another capture can use"
    tokens: list[Any] = []
    error = caught(lambda: tokens.append(graph.pool()))
    expect(not isinstance(error, ACCIDENTS), promise, in_words(error))
    for token in tokens:
        expect(token is not None, promise, "pool() returned None, which names no pool")
        _expect_usable(impl, token, promise)
    return tokens


@requirement("pools.token-before-capture")
def test_pool_before_a_capture(impl: Adapter) -> None:
    """pool() of a new graph is refused or gives the token of the pool that it will use, and does no harm."""
    graph = impl.new_graph()
    tokens = _expect_refused_or_usable(impl, graph, "before a capture")
    source = impl.full(SIZE, 1.0)
    out = capture_into(impl, graph, lambda: chain(source, 2))
    out.fill_(POISON)
    replay(impl, graph)
    expect_equal(impl, out, 3.0, "a call of pool() leaves the graph able to capture and replay")
    for token in tokens:
        promise = "a token that pool() gives before the capture is that of the pool that the capture uses"
        expect(equal(graph.pool(), token) is not False, promise, "pool() gives another one after it")


@requirement("pools.token-after-reset")
def test_pool_after_reset(impl: Adapter) -> None:
    """pool() after reset() is refused or gives a token, and works after the next capture."""
    source = impl.full(SIZE, 1.0)
    graph, _ = capture_chain(impl, source, 2)
    graph.pool()
    graph.reset()
    _expect_refused_or_usable(impl, graph, "after reset()")
    capture_into(impl, graph, lambda: chain(source, 2))
    token = expect_no_raise("pool() works again after the next capture", graph.pool)
    expect(token is not None, "pool() returns a token after the next capture", "pool() returned None")


@requirement("pools.token-of-sharer")
def test_token_of_a_sharing_graph(impl: Adapter, observe: Callable[[str, Any], None]) -> None:
    """Record whether a graph reports the token that it was given."""
    source = impl.full(SIZE, 1.0)
    first, _ = capture_chain(impl, source, 2)
    second, _ = capture_chain(impl, source, 2, pool=first.pool())
    handle = impl.graph_pool_handle()
    third, _ = capture_chain(impl, source, 2, pool=handle)
    observe("token_of_graph_kept", equal(second.pool(), first.pool()))
    observe("token_of_handle_kept", equal(third.pool(), handle))
