"""Inputs: graphs that check that what they read is alive."""

from __future__ import annotations

import gc
import weakref
from typing import Any

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal
from suites.lifecycle.scenarios import Scenarios
from suites.support.captures import capture_between, capture_into
from suites.support.liveness import UNTOUCHED, expect_alive, expect_dead
from suites.support.programs import POISON, SIZE
from suites.support.uses import check_death

#: Ways to use an input, one of each row in a scenario.
USES = (
    ("cat", "stack", "foreach", "index"),
    ("keyword", "optional-keyword"),
    ("out", "in-place"),
    ("view-inside", "transposed"),
)


def inputs_of_two_graphs(impl: Adapter, first: Any, second: Any) -> None:
    """One of three inputs of the first graph dies, then the second graph's, of which a view had been kept."""
    inputs = [impl.full(SIZE, value) for value in (1.0, 2.0, 4.0)]
    others = [impl.full((2, SIZE), 5.0)]
    outs = [impl.full(SIZE, POISON) for _ in range(2)]
    # What the captures make themselves is gone when they end, and no input.
    capture_into(impl, first, lambda: outs[0].copy_((inputs[0] + inputs[1]) * inputs[2]), liveness=True)
    capture_between(impl, second, lambda: outs[1].copy_(others[0][0] + 1), liveness=True)
    for value in (12.0, 12.0):
        expect_alive(impl, first, outs[0], value, "every input lives, what the capture made is gone")
        expect_alive(impl, second, outs[1], 6.0, "every input lives")
    storage = weakref.ref(inputs[1].untyped_storage())
    inputs[1] = inputs[0]
    gc.collect(1)
    expect(storage() is None, "the liveness check keeps no input alive", "its storage is still there")
    expect_dead(first, "one of three inputs was deleted")
    fresh = [impl.full(SIZE, 3.0) for _ in range(4)]
    expect_dead(first, "one of three inputs was deleted, and new tensors took its place")
    for tensor in fresh:
        expect_equal(impl, tensor, 3.0, UNTOUCHED)
    others.append(others.pop()[0])
    others[0].fill_(8.0)
    expect_alive(impl, second, outs[1], 9.0, "a view keeps the storage, and the dead input is another graph's")
    impl.reset(first)
    capture_into(impl, first, lambda: outs[0].copy_(inputs[2] * 2), liveness=True)
    expect_alive(impl, first, outs[0], 8.0, "the dead input was one of a capture before reset()")
    others.clear()
    expect_dead(second, "the last view of the input was deleted")
    impl.reset(first)
    impl.reset(second)


def input_by_use(impl: Adapter, use: str) -> None:
    """An input that is used in one of many ways lives, and dies."""
    check_death(impl, use)


class Inputs(Scenarios):
    """Graphs that check their inputs."""

    def scenario(self, pick: int, number: int, *, flag: bool) -> None:
        """Two graphs have inputs that die; new ones have inputs of many kinds."""
        first, second = self.vacant(), self.vacant()
        self.step(inputs_of_two_graphs, first, second)
        for uses in USES[int(flag) :: 2]:
            self.step(input_by_use, uses[(pick + number) % len(uses)])
