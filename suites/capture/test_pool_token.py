"""The token of a captured graph's memory."""

from __future__ import annotations

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_no_raise
from conformance.markers import requirement
from suites.support.captures import capture_by, capture_into, captured, replay


@requirement("capture.pool-token")
def test_token_is_the_same_each_time(impl: Adapter) -> None:
    """pool() gives one token, before and after replays."""
    x = impl.full(37, 1.0)
    graph, _ = captured(impl, lambda: x + 1.0)
    first = expect_no_raise("pool() gives a token after a capture", graph.pool)
    again = graph.pool()
    replay(impl, graph, times=2)
    later = graph.pool()
    expect(first is not None, "pool() gives a token after a capture", "None")
    expect(first == again == later, "pool() gives the same token each time", f"{first!r}, {again!r}, {later!r}")


@requirement("capture.pool-token")
def test_own_pools_differ(impl: Adapter) -> None:
    """Graphs that were given no token have pools of their own."""
    x = impl.full(37, 1.0)
    one, _ = captured(impl, lambda: x + 1.0)
    two, _ = captured(impl, lambda: x + 2.0)
    expect(one.pool() != two.pool(), "each graph without a given pool has one of its own", f"both {one.pool()!r}")


@pytest.mark.parametrize("origin", ["graph", "handle"])
@requirement("capture.pool-token")
def test_token_is_accepted_by_another_capture(impl: Adapter, origin: str) -> None:
    """A graph captured with another one's token, or with a fresh handle, does its own work."""
    x = impl.full(37, 1.0)
    first, y = captured(impl, lambda: x + 1.0)
    token = first.pool() if origin == "graph" else impl.graph_pool_handle()
    second, settings = impl.graph_for(pool=token)
    z = expect_no_raise(
        "a capture accepts a pool token", lambda: capture_into(impl, second, lambda: x * 4.0, **settings)
    )
    for value in (3.0, 7.0, -2.0):
        x.fill_(value)
        y.fill_(-1.0)
        z.fill_(-1.0)
        replay(impl, first)
        replay(impl, second)
        expect_equal(impl, y, value + 1.0, "a graph whose pool is shared replays its own work")
        expect_equal(impl, z, value * 4.0, "a graph captured into a given pool replays its own work")


@pytest.mark.parametrize("origin", ["graph", "handle"])
@requirement("capture.pool-token-given")
def test_given_token_is_reported(impl: Adapter, origin: str) -> None:
    """pool() of a graph captured with a token is that token."""
    x = impl.full(37, 1.0)
    first, _ = captured(impl, lambda: x + 1.0)
    token = first.pool() if origin == "graph" else impl.graph_pool_handle()
    second, settings = impl.graph_for(pool=token)
    capture_into(impl, second, lambda: x + 2.0, **settings)
    expect(
        second.pool() == token, "pool() is the token that the capture was given", f"{second.pool()!r}, not {token!r}"
    )


@requirement("capture.pool-token")
def test_token_of_a_begin_end_capture(impl: Adapter) -> None:
    """A capture between the two calls gives a token as well."""
    x = impl.full(37, 1.0)
    graph = impl.new_graph()
    capture_by(impl, "begin-end", graph, lambda: x + 1.0)
    token = expect_no_raise("pool() gives a token after a capture", graph.pool)
    expect(token is not None, "pool() gives a token after a capture", "None")
