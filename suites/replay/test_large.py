"""Replays of work on tensors that need more than one block, segment or counter."""

from __future__ import annotations

import pytest
import torch

from conformance.adapter import Adapter
from conformance.checks import expect_equal
from conformance.markers import requirement
from suites.support.captures import captured, replay
from suites.support.streams import side_stream

#: Neither round nor a multiple of a block, and above 2**16, 2**20 and one megabyte of elements of any kind.
SIZE = (1 << 20) + 37


@requirement("replay.large-tensors")
@pytest.mark.parametrize("kind", ["functional", "in-place", "strided"])
def test_every_element(impl: Adapter, kind: str) -> None:
    """Each element of a large tensor is read and written, at every replay."""
    x = impl.full(SIZE, 0.0)
    bodies = {"functional": lambda: x * 2, "in-place": lambda: x.mul_(2), "strided": lambda: x[1::2] * 2}
    graph, out = captured(impl, bodies[kind])
    for turn in range(1, 4):
        values = torch.arange(SIZE, dtype=torch.float32) * 0.5 + turn
        if kind != "in-place":
            out.fill_(-1.0)
        x.copy_(impl.tensor(values))
        replay(impl, graph)
        expected = values[1::2] * 2 if kind == "strided" else values * 2
        expect_equal(impl, out, expected, "a replay computes every element of a large tensor")


@requirement("replay.large-tensors", "pools.private-intermediates")
def test_large_intermediates_are_the_graphs_own(impl: Adapter) -> None:
    """Large eager work between capture and replays leaves the graph's large intermediate values alone."""
    x, stream = impl.full(SIZE, 1.0), impl.new_stream()
    graph, out = captured(impl, lambda: (x + 1) * 3 - x, stream=stream)
    for turn in range(1, 4):
        with side_stream(impl, stream):
            scratch = [impl.full(SIZE, -9.0) for _ in range(3)]
        impl.synchronize()
        x.fill_(float(turn))
        out.fill_(-1.0)
        replay(impl, graph)
        expect_equal(impl, out, turn * 2.0 + 3, "large intermediate values of a graph stay its own")
        for other in scratch:
            expect_equal(impl, other, -9.0, "a replay leaves large tensors outside of the graph alone")
