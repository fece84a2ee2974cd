"""How a pool is passed, and what happens to something that is no pool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_no_raise, expect_raises
from conformance.markers import requirement
from suites.pools.programs import capture_chain
from suites.support.captures import capture_between, capture_into, replay
from suites.support.outcomes import caught
from suites.support.programs import POISON, SIZE, chain
from suites.support.streams import side_stream

# A made-up tuple of numbers or a bare number is not among them: tokens are opaque, and it might be one.
NO_TOKENS: dict[str, Callable[[Adapter], Any]] = {
    "text": lambda _impl: "not a pool",
    "object": lambda _impl: object(),
    "graph": lambda impl: capture_chain(impl, impl.full(SIZE, 1.0), 2)[0],
    "tensor": lambda impl: impl.full((3, 5), 1.5),
}


def begin_with(impl: Adapter, pool: Any, graphs: list[Any]) -> None:
    """Begin a capture with `pool` on the current stream, the way the dialect takes pools; `graphs` gets the graph.

    The graph outlives a refusal in `graphs`: its destruction must not tidy up behind the refused call.
    """
    graph, settings = impl.graph_for(pool=pool)
    graphs.append(graph)
    impl.capture_begin(graph, **settings)


@requirement("pools.positional-argument")
def test_capture_begin_takes_the_pool_by_position(impl: Adapter) -> None:
    """capture_begin(token) captures into the token's pool."""
    source = impl.full(SIZE, 1.0)
    first, first_out = capture_chain(impl, source, 2)
    second = impl.new_graph()
    with side_stream(impl):
        second.capture_begin(first.pool())
        try:
            out = first_out * 2
        finally:
            second.capture_end()
    for value in (3.0, -8.0, 0.5):
        source.fill_(value)
        out.fill_(POISON)
        replay(impl, first)
        replay(impl, second)
        expect_equal(impl, out, (value + 2) * 2, "graphs sharing by a positional token replay right in order")


@requirement("pools.none-is-private")
def test_pool_none_means_a_pool_of_its_own(impl: Adapter) -> None:
    """An explicit None is accepted and does not share with the graph captured before."""
    source = impl.full(SIZE, 1.0)
    first, stream = impl.new_graph(), impl.new_stream()
    first_out = capture_between(impl, first, lambda: chain(source, 2), stream=stream)
    with side_stream(impl, stream):  # where the memory of the first capture's intermediates would be used again
        if impl.dialect == "accelerator":
            second = impl.graph_class(pool=None)
            second.capture_begin()
        else:
            second = impl.new_graph()
            second.capture_begin(pool=None)
        try:
            out = chain(source, 5)
        finally:
            second.capture_end()
    promise = "replays of a graph captured with pool=None and of others do not disturb each other"
    for value in (10.0, -3.0):
        source.fill_(value)
        first_out.fill_(POISON)
        replay(impl, second, 2)
        expect_equal(impl, out, value + 5, "a graph captured with pool=None replays right")
        expect_equal(impl, first_out, POISON, promise)
        out.fill_(POISON)
        replay(impl, first)
        expect_equal(impl, first_out, value + 2, "a graph replays right next to one captured with pool=None")
        expect_equal(impl, out, POISON, promise)


@requirement("pools.constructor-keyword")
@pytest.mark.parametrize("joined_by", ["handle", "graph"])
def test_constructor_pool_is_the_one_captured_into(impl: Adapter, joined_by: str) -> None:
    """A graph constructed with a token shares by it and gives right results."""
    source = impl.full(SIZE, 1.0)
    token = impl.graph_pool_handle() if joined_by == "handle" else capture_chain(impl, source, 4)[0].pool()
    graphs = [impl.new_graph(pool=token) for _ in range(2)]
    doubled = capture_into(impl, graphs[0], lambda: chain(source, 2) * 2)
    total = capture_into(impl, graphs[1], lambda: doubled + chain(source, 3))
    for value in (2.0, -7.0, 30.0):
        source.fill_(value)
        total.fill_(POISON)
        replay(impl, graphs[0])
        replay(impl, graphs[1])
        expect_equal(
            impl, total, (value + 2) * 2 + value + 3, "graphs constructed with one token replay right in order"
        )


@requirement("pools.constructor-keyword-only")
def test_constructor_refuses_a_positional_pool(impl: Adapter) -> None:
    """The second positional argument of the constructor is refused."""
    token = impl.graph_pool_handle()
    expect_raises("the constructor takes the pool by keyword only", lambda: impl.graph_class(False, token))


@requirement("pools.wrong-type-refused")
@pytest.mark.parametrize("kind", NO_TOKENS)
def test_what_is_no_token_is_refused(impl: Adapter, kind: str) -> None:
    """A capture with something that is no pool token does not begin."""
    wrong = NO_TOKENS[kind](impl)
    graphs: list[Any] = []
    with side_stream(impl):
        try:
            expect_raises(f"a capture refuses a {kind} as its pool", lambda: begin_with(impl, wrong, graphs))
        finally:
            if impl.is_current_stream_capturing():
                impl.abort_capture(graphs[-1])


@requirement("pools.wrong-type-harmless")
@pytest.mark.parametrize("kind", ["text", "graph"])
def test_a_refused_pool_leaves_the_stream_usable(impl: Adapter, kind: str) -> None:
    """After a refused pool argument the same stream captures as if nothing had happened."""
    wrong = NO_TOKENS[kind](impl)
    source = impl.full(SIZE, 1.0)
    graphs: list[Any] = []
    with side_stream(impl):
        refused = caught(lambda: begin_with(impl, wrong, graphs)) is not None
        capturing = refused and impl.is_current_stream_capturing()  # what is not refused another test is about
        if impl.is_current_stream_capturing():
            impl.abort_capture(graphs[-1])
        expect(
            not capturing,
            "a capture refused for its pool has not begun",
            "the stream is capturing after the refused call",
        )
        graph = impl.new_graph()
        expect_no_raise("after a refused pool the same stream takes a capture", lambda: impl.capture_begin(graph))
        try:
            out = chain(source, 3)
        finally:
            graph.capture_end()
    for value in (5.0, -2.0):
        source.fill_(value)
        out.fill_(POISON)
        replay(impl, graph)
        expect_equal(impl, out, value + 3, "after a refused pool the same stream captures as before")
