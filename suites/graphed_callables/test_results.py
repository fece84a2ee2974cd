"""What a graphed callable returns."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from conformance.adapter import Adapter, in_thread
from conformance.checks import expect, expect_equal
from conformance.markers import needs, requirement
from suites.graphed_callables.programs import SIZE, Scale, leaf
from suites.support.outcomes import caught
from suites.support.programs import ramp

STARTS = (3, 50, -20, 3)


@requirement("graphed-callables.forward-results")
def test_function(impl: Adapter) -> None:
    """A graphed function returns the results of the current arguments."""
    graphed = impl.make_graphed_callables(lambda x: (x + 1.0) * 3.0, (leaf(impl, ramp(SIZE)),))
    for start in STARTS:
        y = graphed(leaf(impl, ramp(SIZE, start)))
        expect_equal(impl, y, (ramp(SIZE, start) + 1.0) * 3.0, "a graphed function computes what its source computes")


@requirement("graphed-callables.forward-results")
def test_module(impl: Adapter) -> None:
    """A graphed module returns the results of the current arguments."""
    module = impl.make_graphed_callables(Scale().to(impl.device), (impl.tensor(ramp(SIZE)),))
    for start in STARTS:
        expected = ramp(SIZE, 1) * ramp(SIZE, start) + ramp(SIZE, -9)
        expect_equal(
            impl, module(impl.tensor(ramp(SIZE, start))), expected, "a graphed module computes what the module computes"
        )


@requirement("graphed-callables.forward-results")
def test_arguments_refilled_in_place(impl: Adapter) -> None:
    """The sample itself, refilled, is an argument like any other."""
    sample = impl.tensor(ramp((3, 5)))
    module = torch.nn.Hardtanh(-100.0, 4.0)
    graphed = impl.make_graphed_callables(module, (sample,))
    for start in STARTS:
        sample.copy_(impl.tensor(ramp((3, 5), start)))
        expect_equal(
            impl, graphed(sample), ramp((3, 5), start).clamp(max=4.0), "a call reads what its argument holds now"
        )


@pytest.mark.parametrize("kind", ["function", "module"])
@requirement("graphed-callables.replays-only")
def test_source_runs_no_more(impl: Adapter, kind: str) -> None:
    """The source's Python code does not run in calls."""
    module = Scale().to(impl.device)
    source: Any = module if kind == "module" else module.forward
    graphed = impl.make_graphed_callables(source, (leaf(impl, ramp(SIZE)),))
    before = module.calls
    for start in STARTS:
        expected = ramp(SIZE, 1) * ramp(SIZE, start) + ramp(SIZE, -9)
        expect_equal(impl, graphed(leaf(impl, ramp(SIZE, start))), expected, "a call computes what the source computes")
    expect(module.calls == before, "a call replays captured work", f"the source ran {module.calls - before} more times")


@requirement("graphed-callables.output-structure")
def test_tensor_for_a_tensor(impl: Adapter) -> None:
    """One tensor out of the source is one tensor out of the graphed callable."""
    graphed = impl.make_graphed_callables(lambda x: x * 2.0, (leaf(impl, ramp(SIZE)),))
    y = graphed(leaf(impl, ramp(SIZE, 4)))
    expect(isinstance(y, torch.Tensor), "a source that returns a tensor is graphed to one that does", repr(type(y)))
    expect_equal(impl, y, ramp(SIZE, 4) * 2.0, "the tensor holds the results")


@pytest.mark.parametrize("count", [1, 3])
@requirement("graphed-callables.output-structure")
def test_tuple_for_a_tuple(impl: Adapter, count: int) -> None:
    """A tuple out of the source is a tuple of as many tensors, also when it is one."""

    def source(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(x * float(factor + 1) for factor in range(count))

    graphed = impl.make_graphed_callables(source, (leaf(impl, ramp(SIZE)),))
    for start in STARTS:
        results = graphed(leaf(impl, ramp(SIZE, start)))
        expect(
            isinstance(results, tuple) and len(results) == count,
            "a source that returns a tuple is graphed to one that does",
            repr(type(results)),
        )
        for factor, result in enumerate(results):
            expect_equal(impl, result, ramp(SIZE, start) * (factor + 1), "each output is in its place")


@pytest.mark.parametrize("kind", ["list", "dict"])
@requirement("graphed-callables.other-outputs")
def test_list_or_dictionary(impl: Adapter, kind: str) -> None:
    """A list or a dictionary of outputs is refused, or comes back with each value in its place and its gradient."""

    def source(x: torch.Tensor) -> Any:
        values = [x * x, x * 3.0, x + 1.0]
        return values if kind == "list" else dict(zip(("square", "multiple", "sum"), values, strict=True))

    graphed: list[Any] = []
    caught(lambda: graphed.append(impl.make_graphed_callables(source, (leaf(impl, ramp(SIZE)),))))
    expect(not impl.is_current_stream_capturing(), "a refused callable leaves no capture open", "one is open")
    for one in graphed:
        for start in STARTS:
            x, now = leaf(impl, ramp(SIZE, start)), ramp(SIZE, start)
            results: Any = one(x)
            promise = f"a source that returns a {kind} is refused, or graphed to one that does"
            expect(type(results).__name__ == kind and len(results) == 3, promise, repr(type(results)))
            keys = range(3) if kind == "list" else ("square", "multiple", "sum")
            expect(kind == "list" or set(results) == set(keys), promise, f"keys {list(results)}")
            for key, expected in zip(keys, (now * now, now * 3.0, now + 1.0), strict=True):
                expect_equal(impl, results[key], expected, "each output is in its place")
            (gradient,) = torch.autograd.grad(sum(results[key].sum() for key in keys), x)
            expect_equal(impl, gradient, now * 2.0 + 4.0, "the gradients of all outputs are counted")


@requirement("graphed-callables.outputs-without-gradient")
def test_output_that_requires_no_grad(impl: Adapter) -> None:
    """A mask next to a differentiable output: both are right, and so is the gradient."""
    graphed = impl.make_graphed_callables(lambda x: (x * x, x > 0.0), (leaf(impl, ramp(SIZE)),))
    for start in STARTS:
        now = ramp(SIZE, start)
        x = leaf(impl, now)
        square, mask = graphed(x)
        expect_equal(impl, square, now * now, "the differentiable output is right")
        expect_equal(impl, mask, now > 0.0, "the other output is right")
        (gradient,) = torch.autograd.grad(square.sum(), x)
        expect_equal(impl, gradient, now * 2.0, "the gradient comes from the output that has one")


@requirement("graphed-callables.no-grad-calls")
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_call_without_gradients(impl: Adapter, mode: type) -> None:
    """Under no_grad and in inference mode the values are right and require no grad."""
    graphed = impl.make_graphed_callables(lambda x: x * x, (leaf(impl, ramp(SIZE)),))
    for start in STARTS:
        with mode():
            y = graphed(leaf(impl, ramp(SIZE, start)))
        expect(not y.requires_grad, "where gradients are off, outputs require none", "the output requires grad")
        expect_equal(impl, y, ramp(SIZE, start).square(), "a call without gradients computes its outputs")


@requirement("graphed-callables.forward-results")
def test_integers_among_the_arguments(impl: Adapter) -> None:
    """Whole numbers arrive as they are, also those that no float has."""

    def source(x: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
        return x + (numbers % 1009).to(x.dtype)

    graphed = impl.make_graphed_callables(source, (leaf(impl, ramp(SIZE)), impl.tensor(torch.arange(SIZE))))
    for start in STARTS:
        numbers = torch.arange(SIZE) * 3 + (1 << 40) + start
        y = graphed(leaf(impl, ramp(SIZE, start)), impl.tensor(numbers))
        promise = "integers among the arguments are taken exactly"
        expect_equal(impl, y, ramp(SIZE, start) + (numbers % 1009).float(), promise)


@requirement("graphed-callables.forward-results")
@needs("threads")
def test_call_in_another_thread(impl: Adapter) -> None:
    """A call from a thread that did not graph the function gives its result."""
    graphed = impl.make_graphed_callables(lambda x: x * 2.0 + 1.0, (leaf(impl, ramp(SIZE)),))
    for start in STARTS:
        x = leaf(impl, ramp(SIZE, start))
        impl.synchronize()
        y = in_thread(lambda x=x: graphed(x))  # type: ignore[misc]
        impl.synchronize()
        expect_equal(impl, y, ramp(SIZE, start) * 2.0 + 1.0, "a call in another thread computes its outputs")


@requirement("graphed-callables.argument-order")
def test_arguments_by_position(impl: Adapter) -> None:
    """Arguments of equal shape are told apart by their positions."""
    samples = tuple(leaf(impl, ramp(SIZE, start)) for start in (0, 1, 2))
    graphed = impl.make_graphed_callables(lambda a, b, c: a - b * 2.0 + c * 5.0, samples)
    for start in STARTS:
        a, b, c = (ramp(SIZE, start * factor) for factor in (1, 2, 3))
        y = graphed(leaf(impl, a), leaf(impl, b), leaf(impl, c))
        expect_equal(impl, y, a - b * 2.0 + c * 5.0, "arguments are matched to the samples by position")


@requirement("graphed-callables.argument-layouts")
def test_strided_arguments(impl: Adapter) -> None:
    """Transposed, sliced and expanded arguments give the results of their values, or are refused."""
    graphed = impl.make_graphed_callables(lambda x: x * 2.0 + 1.0, (impl.tensor(ramp((3, 5))),))
    arguments = {
        "transposed": (impl.tensor(ramp((5, 3), 7)).t(), ramp((5, 3), 7).t()),
        "sliced": (impl.tensor(ramp((6, 5), 9))[1::2], ramp((6, 5), 9)[1::2]),
        "expanded": (impl.tensor(ramp((1, 5), 4)).expand(3, 5), ramp((1, 5), 4).expand(3, 5)),
    }
    for kind, (argument, values) in arguments.items():
        results: list[torch.Tensor] = []
        caught(lambda argument=argument, results=results: results.append(graphed(argument)))  # type: ignore[misc]
        for result in results:
            expect_equal(impl, result, values * 2.0 + 1.0, f"the values of a {kind} argument are what counts")


@requirement("graphed-callables.nested-arguments")
def test_nested_arguments(impl: Adapter) -> None:
    """Tuples, lists and dictionaries of tensors arrive as they were sampled."""

    def source(pair: tuple[torch.Tensor, torch.Tensor], mapping: dict[str, list[torch.Tensor]]) -> torch.Tensor:
        return pair[0] * mapping["terms"][0] - pair[1] + mapping["terms"][1] * 3.0

    def arguments(start: int) -> tuple[Any, ...]:
        a, b, c, d = (leaf(impl, ramp((3, 5), start * factor)) for factor in (1, 2, 3, 4))
        return (a, b), {"terms": [c, d]}

    graphed = impl.make_graphed_callables(source, arguments(1))
    for start in STARTS:
        inputs = arguments(start)
        a, b, c, d = (ramp((3, 5), start * factor) for factor in (1, 2, 3, 4))
        y = graphed(*inputs)
        expect_equal(impl, y, a * c - b + d * 3.0, "nested arguments arrive as they were sampled")
        gradients = torch.autograd.grad(y.sum(), (*inputs[0], *inputs[1]["terms"]))
        for gradient, expected in zip(gradients, (c, torch.tensor(-1.0), a, torch.tensor(3.0)), strict=True):
            expect_equal(impl, gradient, expected, "nested arguments get their gradients")


@requirement("graphed-callables.static-outputs")
def test_memory_of_outputs(impl: Adapter, observe: Any) -> None:
    """Notes whether a second call writes where the first one did."""
    graphed = impl.make_graphed_callables(lambda x: x * 2.0, (leaf(impl, ramp(SIZE)),))
    first = graphed(leaf(impl, ramp(SIZE, 1)))
    second = graphed(leaf(impl, ramp(SIZE, 2)))
    observe("second_call_writes_where_the_first_did", first.data_ptr() == second.data_ptr())
