"""Captures of many operators: long chains, repetitions, wide forks."""

from __future__ import annotations

import torch

from conformance.adapter import Adapter
from conformance.checks import expect_equal
from conformance.markers import requirement
from suites.support.captures import captured, replay
from suites.support.programs import ramp

#: Neither round nor small enough for a table of a fixed size that nobody thought of.
LENGTH = 133


@requirement("capture.many-operators")
def test_chain_of_dependent_operators(impl: Adapter) -> None:
    """Each operator of a long chain works on the result of the one before it."""

    def chain(x: torch.Tensor) -> torch.Tensor:
        for step in range(LENGTH):
            x = x + step if step % 3 else x * -1
        return x

    x = impl.full((3, 5), 0.0)
    graph, out = captured(impl, lambda: chain(x))
    for start in (1, 12, -6):
        x.copy_(impl.tensor(ramp((3, 5), start)))
        out.fill_(-1.0)
        replay(impl, graph)
        expect_equal(impl, out, chain(ramp((3, 5), start)), "every operator of a long chain is replayed, in its order")


@requirement("capture.many-operators")
def test_the_same_operator_many_times(impl: Adapter) -> None:
    """One in-place operator, given a thousand times and more, counts every time."""
    x, times = impl.full(37, 0.0), 2503

    def body() -> None:
        for _ in range(times):
            x.add_(1.0)

    graph, _ = captured(impl, body)
    for turn in range(1, 4):
        replay(impl, graph)
        expect_equal(impl, x, float(times * turn), "an operator that is captured many times runs as often")


@requirement("capture.many-operators")
def test_many_results_kept(impl: Adapter) -> None:
    """Each of many outputs has its own memory and its own value."""
    x = impl.full((3, 5), 0.0)
    graph, outputs = captured(impl, lambda: [x * step + step for step in range(LENGTH)])
    for start in (1, 12, -6):
        now = ramp((3, 5), start)
        x.copy_(impl.tensor(now))
        for output in outputs:
            output.fill_(-1.0)
        replay(impl, graph)
        for step, output in enumerate(outputs):
            expect_equal(impl, output, now * step + step, "each of many captured outputs has its own value")
