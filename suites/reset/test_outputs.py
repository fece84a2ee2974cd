"""Tensors made in a capture outlive the graph: after reset() and after the graph object is gone."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from conformance.adapter import Adapter
from conformance.checks import expect_equal
from conformance.markers import requirement
from suites.reset.programs import collect_garbage, each_mode
from suites.support.captures import captured, replay

SIZE = 1003
ENDINGS = pytest.mark.parametrize("ending", ["reset", "deleted", "reset-and-deleted"])
EACH_MODE = each_mode("reset.kept-graphs")


def _replayed(impl: Adapter, *, keep_graph: bool | None = None) -> tuple[list[Any], torch.Tensor, torch.Tensor]:
    """A graph (in a list, so that it can be dropped) that was replayed, its output and what that holds."""
    data = torch.arange(SIZE, dtype=torch.float32)
    x = impl.tensor(data)
    graph, out = captured(impl, lambda: (x + 5) * 2, keep_graph=keep_graph)
    replay(impl, graph)
    return [graph], out, (data + 5) * 2


def _end(holder: list[Any], ending: str) -> None:
    if "reset" in ending:
        holder[0].reset()
    if "deleted" in ending:
        holder.clear()
        collect_garbage()


@requirement("reset.outputs-stay-usable")
@ENDINGS
def test_outputs_stay_readable(impl: Adapter, ending: str) -> None:
    """A live output keeps the values of the last replay."""
    holder, out, expected = _replayed(impl)
    _end(holder, ending)
    expect_equal(impl, out, expected, "a live output keeps its values when its graph goes")


@requirement("reset.kept-graphs")
@ENDINGS
def test_outputs_of_a_kept_graph_stay_readable(impl: Adapter, ending: str) -> None:
    """The same with keep_graph=True."""
    holder, out, expected = _replayed(impl, keep_graph=True)
    _end(holder, ending)
    expect_equal(impl, out, expected, "a live output keeps its values when its graph goes")


@requirement("reset.outputs-stay-theirs")
@ENDINGS
def test_memory_of_live_outputs_is_not_given_away(impl: Adapter, ending: str) -> None:
    """Later allocations, eager and captured, do not get the memory of a live output."""
    holder, out, expected = _replayed(impl)
    _end(holder, ending)
    impl.empty_cache()
    others = [impl.full(SIZE, -1.0) for _ in range(4)]
    graph, captured_others = captured(impl, lambda: [torch.full_like(others[0], -2.0) for _ in range(4)])
    replay(impl, graph, 2)
    expect_equal(impl, out, expected, "the memory of a live output belongs to it though its graph is gone")
    for other in captured_others:
        expect_equal(impl, other, -2.0, "a later graph works in memory of its own")


@requirement("reset.outputs-stay-usable")
@ENDINGS
def test_outputs_stay_writable(impl: Adapter, ending: str) -> None:
    """A live output can be written and computed with like any tensor."""
    holder, out, expected = _replayed(impl)
    _end(holder, ending)
    out.mul_(3)
    total = out + 1
    expect_equal(impl, out, expected * 3, "a live output can be written when its graph is gone")
    expect_equal(impl, total, expected * 3 + 1, "a live output can be computed with when its graph is gone")


@requirement("reset.outputs-stay-usable")
@ENDINGS
def test_views_keep_their_memory(impl: Adapter, ending: str) -> None:
    """A view alone keeps the memory of an output alive."""
    holder, out, expected = _replayed(impl)
    view = out[7:]
    del out
    _end(holder, ending)
    impl.empty_cache()
    others = [impl.full(SIZE, -1.0) for _ in range(4)]
    expect_equal(impl, view, expected[7:], "a view of an output keeps its values when the graph goes")
    expect_equal(impl, others[0], -1.0, "a later tensor has memory of its own")


@requirement("reset.outputs-stay-usable")
def test_outputs_of_an_input_of_another_graph(impl: Adapter) -> None:
    """An output of a deleted graph can be the input of another graph."""
    holder, out, expected = _replayed(impl)
    _end(holder, "reset-and-deleted")
    graph, doubled = captured(impl, lambda: out * 2)
    for turn in range(3):
        doubled.fill_(-1.0)
        replay(impl, graph)
        expect_equal(impl, doubled, expected * 2 + 2 * turn, "a graph can read an output of a deleted graph")
        out.add_(1)


@requirement("reset.deletion-of-unused-graph")
@EACH_MODE
@pytest.mark.parametrize("state", ["empty", "captured"])
def test_graph_that_never_replayed_can_go(impl: Adapter, state: str, *, keep_graph: bool | None) -> None:
    """A graph that never replayed can be dropped; captures go on as before."""
    x = impl.full(37, 1.0)
    first = impl.new_graph(keep_graph)
    if state == "captured":
        with impl.capture(first):
            x.add_(100)
    del first
    collect_garbage()
    graph, out = captured(impl, lambda: x + 1)
    for value in (1.0, 2.0):
        x.fill_(value)
        replay(impl, graph)
        expect_equal(impl, out, value + 1, "a dropped graph leaves nothing behind that disturbs the next one")
