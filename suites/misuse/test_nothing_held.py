"""Calls that need a capture, a template or an executable, in the states that have none.

What is allowed and refused, state by state (- means that other requirements look at it)::

                     replay   instantiate  template  executable
    new              refused  refused *    refused   refused
    capturing        refused  refused *    refused   refused
    failed           -        refused      refused   refused
    captured         works    -            refused   works
    template         works    works        works     refused
    instantiated     works    works        works     works
    reset            refused  refused *    refused   refused

    * with keep_graph=True; who need not instantiate may do so without effect
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_raises, is_refusal
from conformance.markers import requirement
from suites.misuse.programs import (
    State,
    captured,
    capturing,
    capturing_keep,
    failed_keep,
    in_states,
    name,
    new,
    new_keep,
    reset,
    reset_keep,
    template,
)
from suites.support.outcomes import caught, in_words
from suites.support.programs import Affine
from suites.support.recovery import expect_capture
from suites.support.tokens import equal


def refused(impl: Adapter, state: State, call: Callable[[Any], Any], what: str) -> None:
    """Reject unless `call` is refused on a graph in `state`."""
    with state(impl, Affine(impl)) as graph:
        expect_raises(f"{what} is refused on a graph in the state {name(state)!r}", lambda: call(graph))


@requirement("misuse.replay-needs-capture")
@in_states(new, capturing, reset)
def test_replay(impl: Adapter, state: State) -> None:
    """Nothing to replay."""
    refused(impl, state, lambda graph: graph.replay(), "replay")


@requirement("misuse.replay-needs-capture")
@in_states(new, reset)
def test_refused_replay_runs_nothing(impl: Adapter, state: State) -> None:
    """A refused replay writes nowhere, not even to what an earlier capture wrote to."""
    program = Affine(impl)
    with state(impl, program) as graph:
        program.out.fill_(4.0)
        expect_raises("replay is refused on a graph that holds nothing", graph.replay)
        expect_equal(impl, program.out, 4.0, "a refused replay runs nothing")


@requirement("misuse.lazy-replay-needs-capture")
@in_states(new_keep, capturing_keep, reset_keep)
def test_lazy_replay(impl: Adapter, state: State) -> None:
    """No template for a replay to instantiate."""
    refused(impl, state, lambda graph: graph.replay(), "replay")


@requirement("misuse.instantiate-needs-capture")
@in_states(new_keep, capturing_keep, reset_keep)
def test_instantiate(impl: Adapter, state: State) -> None:
    """Nothing to instantiate."""
    refused(impl, state, lambda graph: graph.instantiate(), "instantiate")


@requirement("misuse.instantiate-after-failure")
@in_states(failed_keep)
def test_instantiate_after_failure(impl: Adapter, state: State) -> None:
    """Nothing left to instantiate."""
    refused(impl, state, lambda graph: graph.instantiate(), "instantiate")


@requirement("misuse.pool-needs-capture")
@in_states(new, capturing, reset)
def test_pool(impl: Adapter, state: State) -> None:
    """The pool of a graph without a finished capture is refused, or is the graph's and good for another capture."""
    with state(impl, Affine(impl)) as graph:
        try:
            token = graph.pool()
        except Exception as error:
            expect(is_refusal(error), "pool without a capture is refused, or gives a token", in_words(error))
            return
        if state is capturing:
            graph.capture_end()
    promise = "a token that pool gives without a capture names the pool that the graph then captures into"
    if state is not capturing:
        expect_capture(impl, graph, promise)
    expect(equal(graph.pool(), token) is not False, promise, "after the capture pool gives another")
    promise = "a token that pool gives without a capture can be given to another capture"
    expect(token is not None, promise, "pool returned None")
    other, settings = impl.graph_for(pool=token)
    expect_capture(impl, other, promise, **settings)


@requirement("misuse.raw-template-needs-live-template")
@in_states(new_keep, capturing, captured, reset_keep)
def test_raw_graph(impl: Adapter, state: State) -> None:
    """No live template."""
    refused(impl, state, impl.raw_graph, "the template's handle")


@requirement("misuse.raw-executable-needs-instantiate")
@in_states(new, capturing, template, reset_keep)
def test_raw_exec(impl: Adapter, state: State) -> None:
    """No executable."""
    refused(impl, state, impl.raw_exec, "the executable's handle")


@requirement("misuse.handles-after-failure")
@pytest.mark.parametrize("handle", ["raw_graph", "raw_exec"])
@in_states(failed_keep)
def test_handles_after_failure(impl: Adapter, state: State, handle: str) -> None:
    """Neither template nor executable."""
    refused(impl, state, getattr(impl, handle), handle)


@requirement("misuse.dump-needs-live-template")
@in_states(captured, reset)
def test_debug_dump(impl: Adapter, state: State, tmp_path: Path) -> None:
    """Nothing to dump."""
    refused(impl, state, lambda graph: graph.debug_dump(str(tmp_path / "graph.dot")), "debug_dump")


@requirement("misuse.graph-data-needs-executable")
@in_states(captured, template)
def test_graph_data(impl: Adapter, state: State) -> None:
    """A template and an executable are needed to describe the graph."""
    refused(impl, state, lambda graph: graph.get_graph_data(), "get_graph_data")


@requirement("misuse.new-graph-survives-refused-call")
@in_states(new, reset)
def test_captures_later(impl: Adapter, state: State) -> None:
    """A graph that refused to replay captures as if nothing had been asked."""
    with state(impl, Affine(impl)) as graph:
        for _ in range(2):
            caught(graph.replay)
        expect_capture(impl, graph, "a graph that refused to replay captures later")
