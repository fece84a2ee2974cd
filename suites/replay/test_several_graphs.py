"""Several graphs, and graphs among eager work."""

from __future__ import annotations

from functools import partial

import pytest
import torch

from conformance.adapter import Adapter
from conformance.checks import expect_equal
from conformance.markers import requirement
from suites.support.captures import captured, replay
from suites.support.programs import ramp

SHAPE = (3, 5)
#: Neither round nor small enough for a table of a fixed size that nobody thought of.
MANY = 133


@pytest.mark.parametrize("turns", ["ababab", "aabbab", "bbbaab"])
@requirement("replay.interleaved-graphs")
def test_two_graphs_on_shared_tensors(impl: Adapter, turns: str) -> None:
    """Any order of replays gives what the same order of eager work gives."""
    x, y = impl.full(37, 1.0), impl.full(37, 2.0)
    graphs = {
        "a": captured(impl, lambda: y.copy_(x).add_(1.0))[0],
        "b": captured(impl, lambda: x.copy_(y).mul_(2.0))[0],
    }
    now_x, now_y = 1.0, 2.0
    for turn in turns:
        graphs[turn].replay()
        if turn == "a":
            now_y = now_x + 1.0
        else:
            now_x = now_y * 2.0
    expect_equal(impl, x, now_x, "interleaved replays do each graph's own work in the order of the calls")
    expect_equal(impl, y, now_y, "interleaved replays do each graph's own work in the order of the calls")


@requirement("replay.interleaved-graphs")
def test_one_graph_reads_the_output_of_another(impl: Adapter) -> None:
    """A chain of graphs, the last of which feeds the first, advances a round at a time."""
    x = impl.tensor(ramp(SHAPE))
    first, y = captured(impl, lambda: x + 1.0)
    second, z = captured(impl, lambda: y * 2.0)
    third, _ = captured(impl, lambda: x.copy_(z))
    expected = ramp(SHAPE)
    for _ in range(4):
        for graph in (first, second, third):
            graph.replay()
        expected = (expected + 1.0) * 2.0
        expect_equal(impl, x, expected, "a graph reads what another one wrote to its outputs")


@requirement("replay.interleaved-graphs")
def test_independent_graphs_in_any_order(impl: Adapter) -> None:
    """Graphs with nothing in common but an input do not disturb each other's outputs."""
    x = impl.full(37, 0.0)

    def scaled(factor: float) -> tuple[object, torch.Tensor]:
        graph, output = captured(impl, lambda: (x + 1.0) * factor)
        return graph, output

    pairs = [scaled(factor) for factor in (2.0, 3.0, 5.0)]
    for value, turns in ((1.0, (2, 0, 1)), (4.0, (1, 2, 0)), (-7.0, (0, 2, 1))):
        x.fill_(value)
        for _, output in pairs:
            output.fill_(-1.0)
        for turn in turns:
            replay(impl, pairs[turn][0])
        for (_, output), factor in zip(pairs, (2.0, 3.0, 5.0), strict=True):
            expect_equal(impl, output, (value + 1.0) * factor, "each graph writes its own outputs, in any order")


@requirement("replay.interleaved-graphs")
def test_many_graphs_alive(impl: Adapter) -> None:
    """Of many graphs that are alive together each does its own work, the oldest as the newest does."""
    totals = impl.full(MANY, 0.0)
    graphs = [captured(impl, partial(totals[place].add_, place + 1.0))[0] for place in range(MANY)]
    for rounds, turns in enumerate((graphs, graphs[::-1], graphs[1::2] + graphs[::2]), 1):
        for graph in turns:
            graph.replay()
        expect_equal(impl, totals, ramp(MANY, 1) * rounds, "each of many graphs performs its work once a replay")


@requirement("replay.interleaved-graphs")
def test_capture_between_replays(impl: Adapter) -> None:
    """Capturing another graph leaves an earlier one and its outputs as they are."""
    x = impl.full(37, 2.0)
    graph, y = captured(impl, lambda: x * 5.0)
    replay(impl, graph)
    _other, z = captured(impl, lambda: x * 7.0)
    expect_equal(impl, y, 10.0, "the outputs of a graph survive the capture of another one")
    x.fill_(3.0)
    replay(impl, graph)
    expect_equal(impl, y, 15.0, "a graph replays after the capture of another one")
    z.fill_(-1.0)
    replay(impl, graph)
    expect_equal(impl, z, -1.0, "a graph does not write the outputs of another one")


@requirement("replay.mixes-with-eager")
def test_eager_work_feeds_and_reads_replays(impl: Adapter) -> None:
    """A loop of eager step and replay, without waiting, gives what eager work alone gives."""
    x = impl.tensor(ramp(SHAPE))
    graph, y = captured(impl, lambda: x * 2.0 + 1.0)
    expected = ramp(SHAPE)
    for step in range(5):
        graph.replay()
        x.copy_(y - float(step))
        y.fill_(-1.0)
        expected = expected * 2.0 + 1.0 - step
    expect_equal(impl, x, expected, "eager work uses the inputs and outputs of a graph between replays")


@requirement("replay.mixes-with-eager")
def test_outputs_take_part_in_autograd(impl: Adapter) -> None:
    """An output of a graph is an ordinary tensor for an eager backward pass."""
    x, weight = impl.full(37, 0.0), impl.full(37, 2.0).requires_grad_()
    graph, y = captured(impl, lambda: x + 1.0)
    for value in (1.0, 4.0, -6.0):
        x.fill_(value)
        replay(impl, graph)
        (gradient,) = torch.autograd.grad((weight * y).sum(), weight)
        expect_equal(impl, gradient, value + 1.0, "eager autograd uses what a replay wrote")
