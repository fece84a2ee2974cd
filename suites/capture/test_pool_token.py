"""The token of a captured graph's memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_no_raise
from conformance.markers import requirement
from suites.support.captures import capture_by, capture_into, captured, replay
from suites.support.tokens import equal

GIVEN = "pool() gives a token after a capture"
ACCEPTED = "a capture accepts a pool token"


@requirement("capture.pool-token")
def test_every_token_is_accepted(impl: Adapter) -> None:
    """Each token that pool() gives, before and after replays, is good for another capture."""
    x = impl.full(37, 1.0)
    graph, y = captured(impl, lambda: x + 1.0)
    tokens = [expect_no_raise(GIVEN, graph.pool)]
    replay(impl, graph, times=2)
    tokens += [expect_no_raise(GIVEN, graph.pool) for _ in range(2)]
    expect(all(token is not None for token in tokens), GIVEN, f"{tokens!r}")
    others = []
    for number, token in enumerate(tokens, 2):
        other, settings = impl.graph_for(pool=token)
        work = partial(torch.mul, x, number)
        output = expect_no_raise(ACCEPTED, partial(capture_into, impl, other, work, **settings))
        others.append((number, other, output))
    for value in (3.0, -7.0):
        x.fill_(value)
        y.fill_(-1.0)
        replay(impl, graph)
        expect_equal(impl, y, value + 1.0, "a graph whose pool is shared replays its own work")
        for number, other, output in others:
            output.fill_(-1.0)
            replay(impl, other)
            expect_equal(impl, output, value * number, "a graph captured into a given pool replays its own work")


@pytest.mark.parametrize("origin", ["graph", "handle"])
@requirement("capture.pool-token")
def test_token_is_accepted_by_another_capture(impl: Adapter, origin: str) -> None:
    """A graph captured with another one's token, or with a fresh handle, does its own work."""
    x = impl.full(37, 1.0)
    first, y = captured(impl, lambda: x + 1.0)
    token = first.pool() if origin == "graph" else impl.graph_pool_handle()
    second, settings = impl.graph_for(pool=token)
    z = expect_no_raise(ACCEPTED, lambda: capture_into(impl, second, lambda: x * 4.0, **settings))
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
def test_report_of_a_given_token(impl: Adapter, origin: str, observe: Callable[[str, Any], None]) -> None:
    """Records whether pool() of a graph captured with a token is that token."""
    x = impl.full(37, 1.0)
    first, _ = captured(impl, lambda: x + 1.0)
    token = first.pool() if origin == "graph" else impl.graph_pool_handle()
    second, settings = impl.graph_for(pool=token)
    capture_into(impl, second, lambda: x + 2.0, **settings)
    observe("pool() is the token that the capture was given", equal(second.pool(), token))


@requirement("capture.pool-token")
def test_token_of_a_begin_end_capture(impl: Adapter) -> None:
    """A capture between the two calls gives a token as well."""
    x = impl.full(37, 1.0)
    graph = impl.new_graph()
    capture_by(impl, "begin-end", graph, lambda: x + 1.0)
    token = expect_no_raise(GIVEN, graph.pool)
    expect(token is not None, GIVEN, "None")
