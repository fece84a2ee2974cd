"""What reset() and deletion take from the runtime: the template and every executable are destroyed."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.markers import requirement
from suites.support.captures import capture_into, replay
from suites.support.needs import need_capability
from suites.support.programs import Counter
from suites.support.states import graph_in_state
from suites.support.user_objects import Kept, expect_destroyed, keep, runtime_with_user_objects

PROMISES = {
    "reset": "reset() destroys what the graph held: its template and its executable",
    "deletion": "a graph that is deleted takes its template and its executable with it",
    "recapture": "reset() and a new capture leave nothing of the old one",
}
each_reset = pytest.mark.parametrize("end", ["reset", "recapture"])
each_state = pytest.mark.parametrize("state", ["template-only", "kept-and-replayed"])


def end_of(impl: Adapter, holder: list[Any], end: str) -> None:
    """Reset the only graph in `holder`, delete it, or reset it and capture into it again."""
    if end == "deletion":
        holder.clear()
        gc.collect()
        return
    holder[0].reset()
    if end == "recapture":
        capture_into(impl, holder[0], Counter(impl).body)


def expect_kept_until(impl: Adapter, state: str, end: str) -> None:
    """Reject unless a kept graph's template, and the executable made of it, are there until `end`, and then gone."""
    holder = [graph_in_state(impl, "template-only", Counter(impl))]
    witness = Kept(impl, impl.raw_graph(holder[0]))
    if state == "kept-and-replayed":
        replay(impl, holder[0], 2)
    witness.expect_alive("a graph keeps its template until reset() or its own end")
    end_of(impl, holder, end)
    witness.expect_destroyed(PROMISES[end])


@requirement("reset.destroys-graph")
@each_reset
@each_state
def test_kept_graph(impl: Adapter, state: str, end: str) -> None:
    """A template, and the executable made of it, are there until reset() and not afterwards."""
    expect_kept_until(impl, state, end)


@requirement("reset.deletion-destroys-graph")
@each_state
def test_kept_graph_that_is_deleted(impl: Adapter, state: str) -> None:
    """The same for a graph object that goes without reset()."""
    expect_kept_until(impl, state, "deletion")


@requirement("reset.destroys-graph")
@pytest.mark.parametrize("executables", [2, 4])
def test_every_executable(impl: Adapter, executables: int) -> None:
    """instantiate() called several times leaves none of its executables behind."""
    graph = graph_in_state(impl, "template-only", Counter(impl))
    witness = Kept(impl, impl.raw_graph(graph))
    for _ in range(executables):
        graph.instantiate()
        replay(impl, graph)
    graph.reset()
    witness.expect_destroyed(PROMISES["reset"])


def expect_unkept_until(impl: Adapter, end: str) -> None:
    """Reject unless what a hook sees of a graph that is not kept is gone after `end`, the executable included."""
    need_capability(impl, "hooks")
    runtime_with_user_objects(impl)  # a class may not let go out of its hook what says that there are none
    witnesses: list[int] = []
    holder = [impl.new_graph(False)]
    handle = holder[0].register_capture_end_hook(lambda graph: witnesses.append(keep(impl, impl.raw_graph(graph))[0]))
    capture_into(impl, holder[0], Counter(impl).body)
    handle.remove()
    replay(impl, holder[0], 2)
    end_of(impl, holder, end)
    expect_destroyed(witnesses[0], PROMISES[end])


@requirement("reset.destroys-graph")
@each_reset
def test_graph_that_is_not_kept(impl: Adapter, end: str) -> None:
    """With keep_graph=False a hook sees the template; template and executable are both gone after reset()."""
    expect_unkept_until(impl, end)


@requirement("reset.deletion-destroys-graph")
def test_graph_that_is_not_kept_and_deleted(impl: Adapter) -> None:
    """The same for a graph object that goes without reset()."""
    expect_unkept_until(impl, "deletion")
