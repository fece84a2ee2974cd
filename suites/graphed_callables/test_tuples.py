"""Several callables graphed together."""

from __future__ import annotations

import functools
import gc
from typing import Any

import pytest
import torch

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_no_raise
from conformance.markers import requirement
from suites.graphed_callables.programs import SIZE, Scale, gradient_of, leaf
from suites.support.memory import pools_in_use
from suites.support.programs import ramp


@pytest.mark.parametrize("count", [1, 3])
@requirement("graphed-callables.tuple-in-tuple-out")
def test_tuple(impl: Adapter, count: int) -> None:
    """As many graphed callables come back as were passed, in their order, also when it is one."""
    sources = tuple(_times(float(factor + 2)) for factor in range(count))
    graphed = impl.make_graphed_callables(sources, tuple((leaf(impl, ramp(SIZE)),) for _ in sources))
    expect(
        isinstance(graphed, tuple) and len(graphed) == count,
        "for a tuple of callables a tuple of as many comes back",
        repr(graphed),
    )
    for factor, one in enumerate(graphed):
        y = one(leaf(impl, ramp(SIZE, 5)))
        expect_equal(impl, y, ramp(SIZE, 5) * (factor + 2), "graphed callables come back in the order of their sources")


@requirement("graphed-callables.tuple-in-tuple-out")
def test_one_callable(impl: Adapter) -> None:
    """One callable, not in a tuple, comes back as one."""
    graphed = impl.make_graphed_callables(_times(4.0), (leaf(impl, ramp(SIZE)),))
    expect(callable(graphed), "for one callable one comes back", repr(graphed))
    expect_equal(impl, graphed(leaf(impl, ramp(SIZE, 5))), ramp(SIZE, 5) * 4.0, "the callable computes its results")


class _Shopping(list[float]):
    """A list that can be called: multiplies by the sum of its items."""

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return x * sum(self)


@requirement("graphed-callables.tuple-type-counts")
def test_callable_with_items(impl: Adapter) -> None:
    """An object that is a list and can be called, and a module that has items, are one callable each."""
    sources = (_Shopping([1.0, 3.0]), torch.nn.Sequential(_Multiple(), _Multiple()).to(impl.device))
    for source in sources:
        promise = "only a tuple means several callables, so this is one"
        graphed = expect_no_raise(
            promise, functools.partial(impl.make_graphed_callables, source, (leaf(impl, ramp(SIZE)),))
        )
        expect(callable(graphed), promise, f"{type(graphed).__name__} comes back for a {type(source).__name__}")
        expect_equal(impl, graphed(leaf(impl, ramp(SIZE, 5))), ramp(SIZE, 5) * 4.0, promise)


class _Multiple(torch.nn.Module):
    """Twice its argument."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2.0


@requirement("graphed-callables.tuple-chain")
def test_chain(impl: Adapter) -> None:
    """Functions and a module in a chain, each saving values for backward: results and gradients over several steps."""

    def square(x: torch.Tensor) -> torch.Tensor:
        return (x + 1.0) * (x + 1.0)

    def rectify(x: torch.Tensor) -> torch.Tensor:
        return (x * 2.0).relu() * x

    samples = tuple((leaf(impl, ramp(SIZE, start)),) for start in (0, 1, 2))
    scale = Scale().to(impl.device)
    first, module, last = impl.make_graphed_callables((square, scale, rectify), samples)
    for start in (1, -30, 12, 1):
        scale.zero_grad(set_to_none=True)
        x = leaf(impl, ramp(SIZE, start) * 0.5)
        y = last(module(first(x)))
        now = (ramp(SIZE, start) * 0.5).requires_grad_()
        weight, bias = ramp(SIZE, 1).requires_grad_(), ramp(SIZE, -9).requires_grad_()
        host_y = rectify(weight * square(now) + bias)
        # The numbers stay below 2**24 in steps of a quarter of a quarter, or are rounded alike by single operations.
        expect_equal(impl, y, host_y, "callables in a chain give the results of their sources")
        y.sum().backward()
        gradients = torch.autograd.grad(host_y.sum(), (now, weight, bias))
        for tensor, expected in zip((x, scale.weight, scale.bias), gradients, strict=True):
            promise = "callables in a chain give the gradients of their sources"
            expect_equal(impl, gradient_of(tensor, promise), expected, promise)


@requirement("graphed-callables.tuple-chain")
def test_earlier_outputs_survive(impl: Adapter) -> None:
    """Outputs of the first callable still hold after the later ones ran, also where both feed the loss."""
    graphed = impl.make_graphed_callables(
        (_times(2.0), _times(3.0), _times(5.0)), tuple((leaf(impl, ramp(SIZE)),) for _ in range(3))
    )
    for start in (4, -7, 90):
        x = leaf(impl, ramp(SIZE, start))
        outputs = [x]
        for one in graphed:
            outputs.append(one(outputs[-1]))
        for output, factor in zip(outputs[1:], (2.0, 6.0, 30.0), strict=True):
            expect_equal(impl, output, ramp(SIZE, start) * factor, "a later callable leaves earlier outputs alone")
        (gradient,) = torch.autograd.grad([output.sum() for output in outputs[1:]], x)
        expect_equal(impl, gradient, 38.0, "gradients of all outputs flow through the chain")


@requirement("graphed-callables.tuple-in-one-pool")
def test_pools_of_all_captures(impl: Adapter) -> None:
    """Forward and backward passes with temporaries of their own take memory of one pool, and are right."""

    def polynomial(x: torch.Tensor) -> torch.Tensor:
        return ((x * x + 1.0) * x).relu() * x

    sources = (polynomial, lambda x: x * 3.0, polynomial)
    samples = tuple((leaf(impl, ramp(300_005) * 0.0),) for _ in sources)
    before = pools_in_use(impl)
    graphed = impl.make_graphed_callables(sources, samples)
    after = pools_in_use(impl)
    for value in (1.0, 2.0, 3.0):
        x = impl.full(300_005, value).requires_grad_()
        (gradient,) = torch.autograd.grad(graphed[0](x).sum(), x)
        promise = "callables graphed together compute their results"
        expect_equal(impl, gradient, 4.0 * value**3 + 2.0 * value, promise)
    if before is None or after is None:
        return
    promise = "captures of callables that are graphed together share a memory pool"
    expect(len(after - before) <= 1, promise, f"they take memory of the pools {sorted(after - before)}")


@requirement("graphed-callables.tuple-shares-pool")
def test_temporaries_in_one_pool(impl: Adapter, observe: Any) -> None:
    """Four callables with temporaries, run in their order, are right; notes what they reserve together and apart."""
    sources = tuple(_chain(steps) for steps in (4, 2, 5, 3))
    samples = tuple((impl.full(300_005, 1.0).requires_grad_(),) for _ in sources)
    before = _reserved(impl)
    graphed = impl.make_graphed_callables(sources, samples)
    together = _reserved(impl)
    for value in (1.0, -7.0, 20.0):
        outputs = [one(impl.full(300_005, value).requires_grad_()) for one in graphed]
        for output, steps in zip(outputs, (4, 2, 5, 3), strict=True):
            promise = "callables graphed together, run in their order, compute their results"
            expect_equal(impl, output, value + steps, promise)
    if before is None or together is None:
        return
    _apart = [impl.make_graphed_callables(source, sample) for source, sample in zip(sources, samples, strict=True)]
    observe("bytes_reserved_together", together - before)
    observe("bytes_reserved_apart", (_reserved(impl) or 0) - together)


def _times(factor: float) -> Any:
    return lambda x: x * factor


def _chain(steps: int) -> Any:
    def source(x: torch.Tensor) -> torch.Tensor:
        for _ in range(steps):
            x = x + 1.0
        return x

    return source


def _reserved(impl: Adapter) -> int | None:
    if impl.capabilities.get("memory_stats") is False:
        return None
    impl.synchronize()
    gc.collect()
    impl.empty_cache()
    return impl.memory_reserved()
