"""Probes of what the device module offers around the class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal
from conformance.markers import requirement
from suites.declarations.programs import judge_declaration, record
from suites.support.memory import LARGE
from suites.support.programs import SIZE, ramp

Observe = Callable[[str, Any], None]


class _Scale(torch.nn.Module):
    """``weight * x``, element by element; exact in small whole numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(ramp(SIZE, 1))
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return self.weight * x


@requirement("declarations.graphed-callables")
def test_graphed_callables(impl: Adapter, observe: Observe) -> None:
    """A graphed module and a graphed function give the results of their sources without running them."""

    def probe() -> None:
        module = _Scale().to(impl.device)
        graphed = impl.make_graphed_callables(module, (_leaf(impl, 0),))
        calls = module.calls
        for start in (3, 50, -20):
            x = _leaf(impl, start)
            y = graphed(x)
            expect_equal(impl, y, ramp(SIZE, 1) * ramp(SIZE, start), "a graphed module computes what the module does")
            gradients = torch.autograd.grad(y.sum(), (x, module.weight))
            expect_equal(impl, gradients[0], ramp(SIZE, 1), "an argument gets its gradient")
            expect_equal(impl, gradients[1], ramp(SIZE, start), "a parameter gets its gradient")
        expect(module.calls == calls, "a call replays captured work", "the module's own code ran again")
        function = impl.make_graphed_callables(lambda x: x * 2.0 + 1.0, (_leaf(impl, 0),))
        y = function(_leaf(impl, 9))
        expect_equal(impl, y, ramp(SIZE, 9) * 2.0 + 1.0, "a graphed function computes what the function does")

    judge_declaration(impl, "graphed_callables", probe, observe)


def _leaf(impl: Adapter, start: int) -> torch.Tensor:
    return impl.tensor(ramp(SIZE, start)).requires_grad_()


@requirement("declarations.memory-stats")
def test_memory_stats(impl: Adapter, observe: Observe) -> None:
    """Bytes of a tensor, and of a graph's output, count as allocated while it lives, and all of them as reserved."""

    def probe() -> None:
        _check_bytes(impl, lambda: impl.full(LARGE, 7, torch.uint8))
        _check_bytes(impl, lambda: _output(impl))

    judge_declaration(impl, "memory_stats", probe, observe)


def _output(impl: Adapter) -> torch.Tensor:
    """A large tensor made by a capture, whose graph is gone."""
    result: torch.Tensor = record(
        impl, impl.new_graph(), lambda: torch.empty(LARGE, dtype=torch.uint8, device=impl.device).fill_(7)
    )
    return result


def _check_bytes(impl: Adapter, make: Callable[[], torch.Tensor]) -> None:
    impl.synchronize()
    before = impl.memory_allocated()
    tensor = make()
    impl.synchronize()
    during, reserved = impl.memory_allocated(), impl.memory_reserved()
    del tensor
    impl.synchronize()
    after = impl.memory_allocated()
    seen = f"{before} bytes before, {during} of {reserved} reserved with {LARGE} more, {after} afterwards"
    fine = during >= before + LARGE and reserved >= during and after <= during - LARGE
    expect(fine, "bytes that a tensor takes are allocated while it lives", seen)
