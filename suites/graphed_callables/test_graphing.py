"""What graphing runs, and what it leaves as it was."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_no_raise
from conformance.markers import requirement
from suites.graphed_callables.programs import SIZE, Scale, Watched, gradient_of, leaf
from suites.support.programs import ramp


@requirement("graphed-callables.warm-ups-before-capture")
def test_warm_ups(impl: Adapter, observe: Any) -> None:
    """Notes how often each of two callables runs eagerly, whether before every capture, and on which stream."""
    runs: list[tuple[str, bool, Any]] = []

    def source(name: str) -> Any:
        def run(x: torch.Tensor) -> torch.Tensor:
            runs.append((name, impl.is_current_stream_capturing(), impl.current_stream()))
            return x * 2.0

        return run

    caller = impl.current_stream()
    samples = tuple((leaf(impl, ramp(SIZE)),) for _ in range(2))
    graphed = impl.make_graphed_callables((source("first"), source("last")), samples)
    eager = [(name, stream) for name, capturing, stream in runs if not capturing]
    order = [capturing for _, capturing, _ in runs]
    observe("eager_runs", [name for name, _ in eager])
    observe("warm_ups_come_before_every_capture", order == sorted(order))
    observe("warm_ups_run_on_the_callers_stream", any(stream == caller for _, stream in eager))
    observe("graphed", len(graphed))


@requirement("graphed-callables.warm-ups-before-capture")
def test_warm_ups_go_backward(impl: Adapter, observe: Any) -> None:
    """Notes the forward and backward passes, the captured ones last."""
    Watched.passes.clear()
    impl.make_graphed_callables(Watched.apply, (leaf(impl, ramp(SIZE)),))
    observe("passes", Watched.passes.copy())


@pytest.mark.parametrize("before", ["none", "accumulated"])
@requirement("graphed-callables.gradients-untouched")
def test_gradients_that_were_there(impl: Adapter, before: str) -> None:
    """Gradients of parameters and of the sample are after graphing what they were before."""
    source, sample = Scale().to(impl.device), leaf(impl, ramp(SIZE))
    leaves = {"the weight": source.weight, "the bias": source.bias, "the sample": sample}
    if before == "accumulated":
        for number, tensor in enumerate(leaves.values(), 5):
            tensor.grad = impl.full(SIZE, float(number))
    impl.make_graphed_callables(source, (sample,))
    for number, (name, tensor) in enumerate(leaves.items(), 5):
        promise = f"graphing leaves the gradient of {name} as it was"
        if before == "none":
            expect(tensor.grad is None, promise, f"there is one now: {tensor.grad}")
        else:
            expect_equal(impl, gradient_of(tensor, promise), float(number), promise)


@requirement("graphed-callables.sample-as-argument")
def test_samples_as_arguments(impl: Adapter) -> None:
    """A call with the samples, filled with new values, between calls with other tensors."""
    samples = (leaf(impl, ramp(SIZE)), impl.tensor(ramp(SIZE, 1)))
    graphed = expect_no_raise(
        "callables are graphed with samples of which some require grad",
        lambda: impl.make_graphed_callables(lambda a, b: a * b + a, samples),
    )
    for step, start in enumerate((3, -20, 50, 8)):
        a, b = ramp(SIZE, start), ramp(SIZE, 7 - start)
        if step % 2:
            arguments = (leaf(impl, a), impl.tensor(b))
        else:
            arguments = samples
            with torch.no_grad():
                for sample, values in zip(samples, (a, b), strict=True):
                    sample.copy_(impl.tensor(values))
        promise = "the samples can be arguments, between other tensors"
        y = expect_no_raise(promise, partial(graphed, *arguments))
        expect_equal(impl, y, a * b + a, promise)
        (gradient,) = torch.autograd.grad(y.sum(), arguments[0])
        expect_equal(impl, gradient, b + 1.0, "the samples can be arguments, and gradients reach them")
