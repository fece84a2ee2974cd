"""The ways to use a tensor that make it an input."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from conformance.adapter import Adapter
from suites.support.liveness import checked, expect_alive, expect_dead
from suites.support.programs import POISON, SIZE

#: Elements of a tensor that takes a segment of its own.
LARGE = 300_007

Inputs = list[torch.Tensor]


@dataclass(frozen=True)
class Use:
    """One way to use an input.

    Attributes:
        prepare: makes the input that will die; its elements are all 3, or its indices name elements that are.
        body: captured work, given the living tensor of ones, the destination and the held input.
        expected: what the destination holds after a replay, in every element.
    """

    prepare: Callable[[Adapter], torch.Tensor]
    body: Callable[[torch.Tensor, torch.Tensor, Inputs], object]
    expected: float


def _threes(impl: Adapter) -> torch.Tensor:
    return impl.full(SIZE, 3.0)


def _indices(impl: Adapter) -> torch.Tensor:
    return impl.tensor(torch.arange(SIZE - 1, -1, -1))


def _mask(impl: Adapter) -> torch.Tensor:
    return impl.full(SIZE, 1, torch.bool)


def _sum_of_foreach(one: torch.Tensor, out: torch.Tensor, inputs: Inputs) -> None:
    first, second = torch._foreach_add([one, inputs[0]], [inputs[0], one])  # noqa: SLF001 - documented nevertheless
    out.copy_(first + second)


def _written_by_out(one: torch.Tensor, out: torch.Tensor, inputs: Inputs) -> None:
    torch.add(one, 1, out=inputs[0])
    out.copy_(one + 1)


def _written_in_place(one: torch.Tensor, out: torch.Tensor, inputs: Inputs) -> None:
    inputs[0].zero_()
    out.copy_(one * 7)


USES: dict[str, Use] = {
    "cat": Use(_threes, lambda one, out, inputs: out.copy_(torch.cat([one, inputs[0]])[SIZE:]), 3.0),
    "stack": Use(_threes, lambda one, out, inputs: out.copy_(torch.stack([one, one, inputs[0]]).sum(0)), 5.0),
    "foreach": Use(_threes, _sum_of_foreach, 8.0),
    "index": Use(_indices, lambda one, out, inputs: out.copy_(one[inputs[0]] + 1), 2.0),
    "keyword": Use(_threes, lambda one, out, inputs: out.copy_(torch.add(one, other=inputs[0])), 4.0),
    "optional-keyword": Use(_threes, lambda one, out, inputs: out.copy_(torch.clamp(one, min=inputs[0])), 3.0),
    "condition": Use(_mask, lambda one, out, inputs: out.copy_(torch.where(inputs[0], one + 5, one)), 6.0),
    "copy-source": Use(_threes, lambda _one, out, inputs: out.copy_(inputs[0]), 3.0),
    "out": Use(
        _threes,
        _written_by_out,
        2.0,
    ),
    "in-place": Use(_threes, _written_in_place, 7.0),
    "zero-dimensional": Use(lambda impl: impl.full((), 3.0), lambda one, out, inputs: out.copy_(one * inputs[0]), 3.0),
    "one-element": Use(lambda impl: impl.full((1,), 3.0), lambda one, out, inputs: out.copy_(one + inputs[0]), 4.0),
    "large": Use(
        lambda impl: impl.full((LARGE,), 3.0),
        lambda one, out, inputs: out.copy_(one * inputs[0].mul(2)[:SIZE]),
        6.0,
    ),
    "strided": Use(
        lambda impl: impl.full((SIZE, 3), 3.0)[:, 1],
        lambda one, out, inputs: out.copy_(inputs[0] + one),
        4.0,
    ),
    "requires-grad": Use(
        lambda impl: impl.full(SIZE, 3.0).requires_grad_(),
        lambda one, out, inputs: out.copy_((inputs[0] * one).detach()),
        3.0,
    ),
    "view-inside": Use(_threes, lambda _one, out, inputs: out.copy_(inputs[0][5:6].expand(SIZE) * 2), 6.0),
    "view-before": Use(
        lambda impl: impl.full((2, SIZE), 3.0)[1],
        lambda one, out, inputs: out.copy_(inputs[0] - one),
        2.0,
    ),
    "transposed": Use(
        lambda impl: impl.full((SIZE, 2), 3.0).t(),
        lambda one, out, inputs: out.copy_(inputs[0][1] + one),
        4.0,
    ),
}


def check_death(impl: Adapter, name: str) -> None:
    """The use's graph replays while the input lives and is refused once it is gone."""
    use = USES[name]
    one, out = impl.full(SIZE, 1.0), impl.full(SIZE, POISON)
    inputs = [use.prepare(impl)]
    graph, _ = checked(impl, lambda: use.body(one, out, inputs))
    expect_alive(impl, graph, out, use.expected, f"used as {name}")
    inputs.clear()
    expect_dead(graph, f"used as {name}, then deleted")
