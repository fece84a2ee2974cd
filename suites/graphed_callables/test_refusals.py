"""What must not be passed, and what a refusal leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_raises
from conformance.markers import requirement
from suites.graphed_callables.programs import SIZE, Scale, leaf
from suites.support.outcomes import caught, judge
from suites.support.programs import ramp

#: Arguments that do not fit a sample of 3x5 single-precision elements.
MISFITS: dict[str, Callable[[Adapter], tuple[Any, ...]]] = {
    "larger": lambda impl: (impl.full((4, 5), 1.0),),
    "broadcast": lambda impl: (impl.full((1, 5), 1.0),),
    "fewer-dimensions": lambda impl: (impl.full(5, 1.0),),
    "integers": lambda impl: (impl.full((3, 5), 1.0, torch.int64),),
    "double": lambda impl: (impl.full((3, 5), 1.0, torch.float64),),
    "too-many": lambda impl: (impl.full((3, 5), 1.0), impl.full((3, 5), 1.0)),
    "too-few": lambda _: (),
    "no-tensor": lambda _: (1.0,),
}


@pytest.mark.parametrize("value", [2.0, 3, None, "text"], ids=["float", "int", "none", "text"])
@requirement("graphed-callables.tensors-only")
def test_sample_that_is_no_tensor(impl: Adapter, value: object) -> None:
    """A sample that is not a tensor, next to one that is."""
    expect_raises(
        "sample arguments are tensors",
        lambda: impl.make_graphed_callables(lambda x, _: x * 2.0, (leaf(impl, ramp(SIZE)), value)),
    )
    expect(not impl.is_current_stream_capturing(), "a refusal leaves no capture open", "one is open")


@pytest.mark.parametrize("kind", ["function", "module"])
@requirement("graphed-callables.keyword-arguments-refused")
def test_keyword_argument(impl: Adapter, kind: str) -> None:
    """An argument given by keyword is refused or taken; one that the source does not know is refused."""
    module = Scale().to(impl.device)
    source: Any = module if kind == "module" else module.forward
    graphed = impl.make_graphed_callables(source, (leaf(impl, ramp(SIZE)),))
    results: list[Any] = []
    expected = ramp(SIZE, 1) * ramp(SIZE, 4) + ramp(SIZE, -9)
    caught(lambda: results.append(graphed(x=leaf(impl, ramp(SIZE, 4)))))
    for result in results:
        promise = "a keyword argument is refused or taken as the source would take it"
        expect_equal(impl, result, expected, promise)
    expect_raises(
        "a keyword argument that the source does not know is refused",
        lambda: graphed(leaf(impl, ramp(SIZE)), scale=2.0),
    )
    expect_equal(impl, graphed(leaf(impl, ramp(SIZE, 4))), expected, "by position the argument is taken")


@requirement("graphed-callables.refusals-say-why")
def test_message_of_a_refused_keyword(impl: Adapter) -> None:
    """Whoever gives an argument by a name that the source does not know is told."""
    graphed = impl.make_graphed_callables(lambda x: x * 2.0, (leaf(impl, ramp(SIZE)),))
    judge(lambda: graphed(leaf(impl, ramp(SIZE)), scale=2.0))


@pytest.mark.parametrize("kind", MISFITS)
@requirement("graphed-callables.mismatch-refused")
def test_argument_that_does_not_fit(impl: Adapter, kind: str, observe: Any) -> None:
    """Notes whether arguments unlike the samples are refused."""
    graphed = impl.make_graphed_callables(lambda x: x * 2.0, (impl.tensor(ramp((3, 5))),))
    arguments = MISFITS[kind](impl)
    error = caught(lambda: graphed(*arguments))
    observe("arguments_unlike_the_samples", "taken" if error is None else f"refused: {type(error).__name__}")
    impl.synchronize()


@pytest.mark.parametrize("when", ["warm-up", "capture", "backward-pass"])
@requirement("graphed-callables.failure-is-clean")
def test_callable_that_raises(impl: Adapter, when: str) -> None:
    """A module that raises while it is warmed up or captured: its exception is seen, and it can be graphed later."""

    class Moody(Scale):
        raises = True

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = super().forward(x)
            if when == "backward-pass":
                y.register_hook(lambda _: self.may_raise())
            else:
                self.may_raise()
            return y

        def may_raise(self) -> None:
            if self.raises and (when == "warm-up" or impl.is_current_stream_capturing()):
                raise KeyError(when)

    source = Moody().to(impl.device)
    expect_raises(
        "an exception of the callable is seen",
        lambda: impl.make_graphed_callables(source, (leaf(impl, ramp(SIZE)),)),
        KeyError,
    )
    expect(not impl.is_current_stream_capturing(), "a failure leaves no capture open", "one is open")
    source.raises = False
    expected = ramp(SIZE, 1) * ramp(SIZE, 4) + ramp(SIZE, -9)
    expect_equal(impl, source(leaf(impl, ramp(SIZE, 4))), expected, "after a failure the module runs as before")
    graphed = impl.make_graphed_callables(source, (leaf(impl, ramp(SIZE)),))
    for start in (4, -8, 60):
        expected = ramp(SIZE, 1) * ramp(SIZE, start) + ramp(SIZE, -9)
        y = graphed(leaf(impl, ramp(SIZE, start)))
        expect_equal(impl, y, expected, "after a failure the module can be graphed")


@requirement("graphed-callables.unannounced-gradient")
def test_argument_that_requires_grad_unlike_its_sample(impl: Adapter, observe: Any) -> None:
    """Notes what happens to an argument that requires grad although its sample did not."""
    module = impl.make_graphed_callables(Scale().to(impl.device), (impl.tensor(ramp(SIZE)),))
    x = leaf(impl, ramp(SIZE, 3))
    try:
        module(x).sum().backward()
    except Exception:
        observe("unannounced_gradient", "refused")
        return
    observe("unannounced_gradient", "missing" if x.grad is None else "given")
