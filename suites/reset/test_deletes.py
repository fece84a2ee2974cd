"""What reset() deletes: no replay, executable, template or pool is left; asking is refused."""

from __future__ import annotations

import contextlib

import pytest

from conformance.adapter import Adapter, in_thread
from conformance.checks import expect_equal, expect_no_raise, expect_raises
from conformance.markers import requirement
from suites.reset.programs import each_mode, each_state
from suites.support.captures import capture_into, captured, replay
from suites.support.handles import expect_no_handle
from suites.support.programs import Counter
from suites.support.recovery import expect_no_pool_or_a_usable_one
from suites.support.states import HELD_STATES, graph_in_state, runs_so_far

EACH_STATE = each_state("reset.kept-graphs")
EACH_MODE = each_mode("reset.kept-graphs")
KEPT_STATES = tuple(state for state in HELD_STATES if state != "executable-only")


@requirement("reset.deletes-work")
def test_work_is_gone(impl: Adapter) -> None:
    """After reset() no replay runs the deleted work, whether it is refused or not."""
    expect_gone(impl, "executable-only")


@requirement("reset.deletes-kept-work")
@pytest.mark.parametrize("state", KEPT_STATES)
def test_work_of_a_kept_graph_is_gone(impl: Adapter, state: str) -> None:
    """The same with keep_graph=True, instantiated or not."""
    expect_gone(impl, state)


def expect_gone(impl: Adapter, state: str) -> None:
    """Reject if replays after reset() do what the graph held before."""
    counter = Counter(impl)
    graph = graph_in_state(impl, state, counter)
    graph.reset()
    for _ in range(3):
        with contextlib.suppress(Exception):
            graph.replay()
    counter.expect_runs(runs_so_far(state), "reset() deletes the graph, so its work never runs again")


@requirement("reset.replay-refused")
@EACH_STATE
def test_replay_is_refused(impl: Adapter, state: str) -> None:
    """After reset() replay is refused, again and again, and runs nothing."""
    counter = Counter(impl)
    graph = graph_in_state(impl, state, counter)
    graph.reset()
    for _ in range(3):
        expect_raises("reset() deletes the graph, so there is nothing to replay", graph.replay)
    counter.expect_runs(runs_so_far(state), "a refused replay runs nothing")


@requirement("reset.replay-refused")
def test_refused_replay_writes_no_output(impl: Adapter) -> None:
    """A replay refused after reset() leaves the outputs of the deleted graph alone."""
    x = impl.full(37, 2.0)
    graph, out = captured(impl, lambda: x * 4)
    replay(impl, graph)
    graph.reset()
    out.fill_(-3.0)
    expect_raises("reset() deletes the graph, so there is nothing to replay", graph.replay)
    expect_equal(impl, out, -3.0, "a refused replay writes nothing")


@requirement("reset.instantiate-refused")
@pytest.mark.parametrize("state", HELD_STATES)
def test_instantiate_is_refused(impl: Adapter, state: str) -> None:
    """After reset() there is no template to instantiate, in either mode."""
    graph = graph_in_state(impl, state, Counter(impl))
    graph.reset()
    expect_raises("reset() deletes the template, so there is nothing to instantiate", graph.instantiate)


@requirement("reset.handles-refused")
@pytest.mark.parametrize("state", HELD_STATES)
def test_handles_are_refused(impl: Adapter, state: str) -> None:
    """After reset() neither handle can be read."""
    graph = graph_in_state(impl, state, Counter(impl))
    graph.reset()
    expect_no_handle("reset() deletes the template, so it has no handle", lambda: impl.raw_graph(graph))
    expect_no_handle("reset() deletes the executable, so it has no handle", lambda: impl.raw_exec(graph))


@requirement("reset.pool-refused")
@EACH_MODE
def test_pool_is_refused_or_usable(impl: Adapter, *, keep_graph: bool | None) -> None:
    """After reset() the graph has no pool to name, or one that other captures can use."""
    graph, _ = captured(impl, Counter(impl).body, keep_graph=keep_graph)
    expect_no_raise("a captured graph names its pool", graph.pool)
    graph.reset()
    expect_no_pool_or_a_usable_one(impl, graph)


@requirement("reset.idempotent")
@EACH_STATE
def test_reset_twice(impl: Adapter, state: str) -> None:
    """Further resets do nothing, and the graph can be captured into again."""
    counter, again = Counter(impl), Counter(impl, step=3.0)
    graph = graph_in_state(impl, state, counter)
    for _ in range(3):
        expect_no_raise("reset() may be called any number of times", graph.reset)
    capture_into(impl, graph, again.body)
    replay(impl, graph, 3)
    counter.expect_runs(runs_so_far(state), "reset() deletes the captured work")
    again.expect_runs(3, "a graph that was reset several times takes a new capture")


@requirement("reset.before-capture")
@EACH_MODE
def test_reset_before_any_capture(impl: Adapter, *, keep_graph: bool | None) -> None:
    """reset() on a graph that never captured is harmless, and the first capture follows as usual."""
    counter = Counter(impl)
    graph = impl.new_graph(keep_graph)
    for _ in range(2):
        expect_no_raise("reset() before any capture is harmless", graph.reset)
    capture_into(impl, graph, counter.body)
    replay(impl, graph, 3)
    counter.expect_runs(3, "reset() before any capture leaves the graph ready for one")


@requirement("reset.recapture")
def test_reset_keeps_the_object(impl: Adapter) -> None:
    """reset() works on the object in place: a name bound before it sees the new capture."""
    old, new = Counter(impl), Counter(impl, step=-2.0)
    graph, _ = captured(impl, old.body)
    same = graph
    graph.reset()
    capture_into(impl, graph, new.body)
    replay(impl, same, 2)
    old.expect_runs(0, "reset() empties the object itself")
    new.expect_runs(2, "a capture after reset() goes to the same object")


@requirement("reset.in-any-thread")
def test_reset_in_another_thread(impl: Adapter) -> None:
    """reset() called in another thread deletes the graph for every thread."""
    counter, again = Counter(impl), Counter(impl, step=3.0)
    graph, _ = captured(impl, counter.body)
    replay(impl, graph, 2)
    expect_no_raise("reset() may be called in another thread", lambda: in_thread(graph.reset))
    expect_raises("reset() deletes the graph, so there is nothing to replay", graph.replay)
    capture_into(impl, graph, again.body)
    replay(impl, graph, 3)
    counter.expect_runs(2, "reset() deletes the captured work")
    again.expect_runs(3, "a graph that was reset in another thread takes a new capture")
