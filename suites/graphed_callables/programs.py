"""Functions, modules and checks of the graphed-callables suites.

Where arithmetic is on small whole numbers it is exact in any order, and checked to the bit.  What libraries compute in
an order of their own (matrix products, means) is compared with eager torch on the host within rounding.
"""

from __future__ import annotations

import copy
import itertools
from typing import Any, ClassVar

import torch
from torch import nn

from conformance.adapter import Adapter
from conformance.checks import expect, fail
from suites.support.programs import ramp

SIZE = 37


def wave(shape: tuple[int, ...], phase: float) -> torch.Tensor:
    """A CPU tensor of numbers between -1 and 1, different for each phase."""
    return torch.sin(ramp(shape) * 0.7 + phase)


def leaf(impl: Adapter, values: torch.Tensor) -> torch.Tensor:
    """A device tensor that holds `values` and requires grad."""
    return impl.tensor(values).requires_grad_()


class Scale(nn.Module):
    """``weight * x + bias``, element by element."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(ramp(SIZE, 1))
        self.bias = nn.Parameter(ramp(SIZE, -9))
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return self.weight * x + self.bias


class Watched(torch.autograd.Function):
    """Twice its argument; `passes` notes each forward and each backward pass that Python runs."""

    passes: ClassVar[list[str]] = []

    @staticmethod
    def forward(_ctx: Any, x: torch.Tensor) -> torch.Tensor:
        Watched.passes.append("forward")
        return x * 2.0

    @staticmethod
    def backward(_ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        Watched.passes.append("backward")
        return gradient * 2.0


class WatchedScale(Scale):
    """Twice what `Scale` gives, in watched passes."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = Watched.apply(super().forward(x))  # type: ignore[no-untyped-call]
        return result


def network(*shape: int) -> nn.Sequential:
    """Linear layers of the given widths with ``tanh`` between them, the same at every call."""
    layers: list[nn.Module] = []
    for inner, outer in itertools.pairwise(shape):
        layers += [nn.Linear(inner, outer), nn.Tanh()]
    model = nn.Sequential(*layers[:-1])
    with torch.no_grad():
        for number, parameter in enumerate(model.parameters()):
            parameter.copy_(wave(tuple(parameter.shape), float(number)))
    return model


def twins(impl: Adapter, model: nn.Module) -> tuple[nn.Module, nn.Module]:
    """The model on the device, and an eager copy of it on the host."""
    host = copy.deepcopy(model)
    return model.to(impl.device), host


def expect_close(impl: Adapter, tensor: torch.Tensor | None, expected: torch.Tensor | None, promise: str) -> None:
    """Reject unless the device tensor equals the host's within the rounding of single precision."""
    __tracebackhide__ = True
    if tensor is None or expected is None:
        fail(promise, f"{tensor} where {expected} was expected")
    values, host = impl.read(tensor), expected.detach()
    expect(values.shape == host.shape, promise, f"shape {tuple(values.shape)} where {tuple(host.shape)} was expected")
    near = torch.isclose(values, host, rtol=1e-3, atol=1e-4)
    if not bool(near.all()):
        first = tuple((~near).nonzero()[0].tolist())
        fail(
            promise,
            f"{int((~near).sum())} of {near.numel()} elements differ; the first, at {first}, "
            f"is {values[first].item()!r} and should be about {host[first].item()!r}",
        )


def gradient_of(tensor: torch.Tensor, promise: str) -> torch.Tensor:
    """The gradient that has accumulated in a leaf; rejects when there is none."""
    __tracebackhide__ = True
    if tensor.grad is None:
        fail(promise, "there is no gradient")
    return tensor.grad
