"""A graph that was reset takes a new capture: new work, new sizes, a pool of its own or a given one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_no_raise
from conformance.markers import requirement
from suites.reset.programs import each_mode, each_state
from suites.support.captures import capture_into, captured, replay
from suites.support.handles import expect_no_handle
from suites.support.memory import pool_of
from suites.support.programs import Counter
from suites.support.states import graph_in_state, runs_so_far
from suites.support.tokens import equal

EACH_MODE = each_mode("reset.kept-graphs")


@requirement("reset.recapture")
@each_state("reset.kept-graphs")
def test_new_capture_replaces_the_old(impl: Adapter, state: str) -> None:
    """After reset() a new capture is accepted, and replays run its work and none of the old."""
    old, new = Counter(impl), Counter(impl, step=7.0)
    graph = graph_in_state(impl, state, old)
    graph.reset()
    expect_no_raise("a graph that was reset takes a new capture", lambda: capture_into(impl, graph, new.body))
    new.expect_runs(0, "a capture runs nothing")
    replay(impl, graph, 3)
    old.expect_runs(runs_so_far(state), "a replay after reset() and a new capture runs none of the old work")
    new.expect_runs(3, "a replay after reset() and a new capture runs the new work")


@requirement("reset.recapture")
@EACH_MODE
def test_new_capture_may_differ_in_shape_and_dtype(impl: Adapter, *, keep_graph: bool | None) -> None:
    """Shapes and dtypes of a capture after reset() do not depend on the one before."""
    graph = impl.new_graph(keep_graph)
    for dtype, shape in (
        (torch.float32, (37,)),
        (torch.int64, (3, 5)),
        (torch.float16, (2, 3, 7)),
        (torch.float32, (1,)),
    ):
        x = impl.full(shape, 1, dtype)
        body = partial(torch.add, x, x, alpha=2)
        out = expect_no_raise(
            f"{shape} {dtype} can be captured after reset()", partial(capture_into, impl, graph, body)
        )
        for value in (2, -4):
            x.fill_(value)
            out.fill_(99)
            replay(impl, graph)
            expect_equal(impl, out, value * 3, f"a capture of {shape} {dtype} after reset() replays like any other")
        graph.reset()


@requirement("reset.keeps-mode")
def test_kept_mode_survives_reset(impl: Adapter) -> None:
    """keep_graph=True holds for the capture after reset(): the user may instantiate it."""
    graph, _ = captured(impl, Counter(impl).body, keep_graph=True)
    for step in (2.0, 3.0):
        counter = Counter(impl, step=step)
        graph.reset()
        capture_into(impl, graph, counter.body)
        expect_no_raise("keep_graph=True survives reset(), so instantiate() works", graph.instantiate)
        replay(impl, graph, 2)
        counter.expect_runs(2, "each replay runs the captured work once")


@requirement("reset.keeps-mode")
def test_unkept_mode_survives_reset(impl: Adapter) -> None:
    """keep_graph=False holds for the capture after reset(): it replays at once."""
    graph, _ = captured(impl, Counter(impl).body, keep_graph=False)
    graph.reset()
    counter = Counter(impl, step=2.0)
    capture_into(impl, graph, counter.body)
    replay(impl, graph, 2)
    counter.expect_runs(2, "keep_graph=False survives reset(), so the capture replays at once")


@requirement("reset.keeps-mode-handles")
@pytest.mark.parametrize("keep_graph", [False, True], ids=["not-kept", "kept"])
def test_mode_decides_about_handles_after_reset(impl: Adapter, *, keep_graph: bool) -> None:
    """After reset() and a new capture each handle is there, or not, as the mode says."""
    graph, _ = captured(impl, Counter(impl).body, keep_graph=keep_graph)
    replay(impl, graph)
    graph.reset()
    capture_into(impl, graph, Counter(impl).body)
    if keep_graph:
        expect_no_raise("keep_graph=True survives reset(): the template is kept", lambda: impl.raw_graph(graph))
        expect_no_handle("keep_graph=True survives reset(): nothing is instantiated yet", lambda: impl.raw_exec(graph))
    else:
        expect_no_handle("keep_graph=False survives reset(): the template is gone", lambda: impl.raw_graph(graph))
        expect_no_raise("keep_graph=False survives reset(): the executable is there", lambda: impl.raw_exec(graph))


@requirement("reset.recapture-into-given-pool")
@EACH_MODE
def test_recapture_into_a_given_pool(impl: Adapter, *, keep_graph: bool | None) -> None:
    """A capture after reset() may share the pool of another graph; both graphs then replay correctly."""
    x = impl.full(37, 0.0)
    other, other_out = captured(impl, lambda: x + 10)
    graph, _ = captured(impl, lambda: x + 1, keep_graph=keep_graph)
    graph.reset()
    out = expect_no_raise(
        "a capture after reset() takes a pool", lambda: capture_into(impl, graph, lambda: x + 2, pool=other.pool())
    )
    for value in (1.0, 5.0, -2.0):
        x.fill_(value)
        out.fill_(99.0)
        other_out.fill_(99.0)
        replay(impl, graph)
        replay(impl, other)
        expect_equal(impl, out, value + 2, "a graph captured again into a shared pool computes its own result")
        expect_equal(impl, other_out, value + 10, "the graph that the pool is shared with computes its own result")


@requirement("reset.recapture-into-given-pool")
def test_each_capture_goes_where_it_is_told(impl: Adapter) -> None:
    """One object captures into one pool, into another and into none: each time as a new graph does that is told so."""
    promise = "a capture after reset() goes into the pool that it is given, as a new graph's does"
    x = impl.full(37, 0.0)
    owners = [captured(impl, lambda: x + 10) for _ in range(2)]
    graph, outputs = impl.new_graph(), []
    for owner, owner_out in owners:
        token, place = owner.pool(), pool_of(impl, owner_out)
        new, new_out = captured(impl, lambda: x + 1, pool=token)
        outputs.append(capture_into(impl, graph, lambda: x + 2, pool=token))
        # A pool is a hint: what a new graph makes of it is what this one has to.
        if equal(new.pool(), token) is True:
            seen = f"pool() gives {graph.pool()!r}, and it was given {token!r}"
            expect(equal(graph.pool(), token) is True, promise, seen)
        if equal(pool_of(impl, new_out), place) is True:
            own = pool_of(impl, outputs[-1])
            expect(equal(own, place) is True, promise, f"its memory is in {own!r}, and it was given {place!r}")
        graph.reset()
    capture_into(impl, graph, lambda: x + 3)
    shared = [owner.pool() for owner, _ in owners if equal(graph.pool(), owner.pool())]
    expect(not shared, "a capture after reset() that is given no pool has one of its own", f"pool() gives {shared}")


@requirement("reset.outputs-stay-theirs")
def test_new_capture_leaves_old_outputs_alone(impl: Adapter) -> None:
    """Live outputs of a deleted capture are not written by the capture that follows in the same object."""
    x = impl.full((3, 5), 6.0)
    graph, old = captured(impl, lambda: x * 2)
    replay(impl, graph)
    graph.reset()
    new = capture_into(impl, graph, lambda: x * 3)
    for value in (1.0, -1.0, 4.0):
        x.fill_(value)
        new.fill_(99.0)
        replay(impl, graph)
        expect_equal(impl, new, value * 3, "a replay computes the new work")
        expect_equal(impl, old, 12.0, "a live output of the deleted graph keeps its values")


@requirement("reset.recapture-pool-token")
def test_pool_token_after_reset_is_recorded(impl: Adapter, observe: Callable[[str, Any], None]) -> None:
    """Whether a capture after reset() gets a pool of another name is recorded, not judged."""
    graph, _ = captured(impl, Counter(impl).body)
    before = graph.pool()
    graph.reset()
    capture_into(impl, graph, Counter(impl).body)
    observe("pool token after reset and recapture", equal(graph.pool(), before))


@requirement("reset.recapture")
@EACH_MODE
def test_many_cycles(impl: Adapter, *, keep_graph: bool | None) -> None:
    """Seventy rounds of capture, replay and reset in one object each run their own work, once for each replay."""
    x = impl.full(37, 0.0)
    graph = impl.new_graph(keep_graph)
    for turn in range(70):
        counter = Counter(impl)
        out = capture_into(impl, graph, partial(_count_and_add, counter, x, turn))
        for runs, value in enumerate((1.0, 2.0), 1):
            x.fill_(value)
            out.fill_(-1.0)
            replay(impl, graph)
            expect_equal(impl, out, value + turn, f"capture number {turn + 1} replays its own work")
            counter.expect_runs(runs, f"capture number {turn + 1} runs its work once for each replay")
        graph.reset()


def _count_and_add(counter: Counter, x: torch.Tensor, turn: int) -> torch.Tensor:
    counter.body()
    return x + turn
