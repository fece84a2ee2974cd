"""The backward pass of a graphed callable."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_no_raise, expect_raises, fail
from conformance.markers import requirement
from suites.graphed_callables.programs import (
    SIZE,
    Scale,
    Watched,
    WatchedScale,
    expect_close,
    gradient_of,
    leaf,
    network,
    twins,
    wave,
)
from suites.support.outcomes import caught
from suites.support.programs import ramp

STARTS = (3, 50, -20, 3)

#: By the layout of a tensor of three rows and five columns: the shape of what it is a part of, and which part.
LAYOUTS: dict[str, tuple[tuple[int, int], Callable[[torch.Tensor], torch.Tensor]]] = {
    "transposed": ((5, 3), lambda whole: whole.t()),
    "strided": ((6, 5), lambda whole: whole[1::2]),
    "expanded": ((1, 5), lambda whole: whole.expand(3, 5)),
}


@requirement("graphed-callables.input-gradients")
def test_gradient_of_an_argument(impl: Adapter) -> None:
    """A non-linear function's gradient is that of the current argument and the current incoming gradient."""
    graphed = impl.make_graphed_callables(lambda x: (x * x).relu() + x, (leaf(impl, ramp(SIZE)),))
    for start in STARTS:
        now, incoming = ramp(SIZE, start), ramp(SIZE, 2 - start)
        x = leaf(impl, now)
        graphed(x).backward(impl.tensor(incoming))
        promise = "backward gives an argument the gradient of the source callable"
        expect_equal(impl, gradient_of(x, promise), (now * 2.0 + 1.0) * incoming, promise)


@requirement("graphed-callables.input-gradients")
@pytest.mark.parametrize("kind", LAYOUTS)
def test_layout_of_the_incoming_gradient(impl: Adapter, kind: str) -> None:
    """What autograd hands to backward need not be contiguous, and counts by its elements."""
    graphed = impl.make_graphed_callables(lambda x: x * x + x, (leaf(impl, ramp((3, 5))),))
    for start in STARTS:
        now = ramp((3, 5), start)
        whole, part = LAYOUTS[kind]
        values = ramp(whole, 2 - start)
        x = leaf(impl, now)
        graphed(x).backward(part(impl.tensor(values)))
        promise = f"backward takes a {kind} gradient for its elements"
        expect_equal(impl, gradient_of(x, promise), (now * 2.0 + 1.0) * part(values), promise)


@requirement("graphed-callables.input-gradients")
def test_gradients_of_several_outputs(impl: Adapter) -> None:
    """Gradients that come in through several outputs are all counted."""
    graphed = impl.make_graphed_callables(
        lambda x, y: (x * y, x + y * 2.0), (leaf(impl, ramp(SIZE)), leaf(impl, ramp(SIZE, 1)))
    )
    for start in STARTS:
        a, b = ramp(SIZE, start), ramp(SIZE, 9 - start)
        x, y = leaf(impl, a), leaf(impl, b)
        product, total = graphed(x, y)
        gradients = torch.autograd.grad((product * 3.0 + total * 5.0).sum(), (x, y))
        for gradient, expected in zip(gradients, (b * 3.0 + 5.0, a * 3.0 + 10.0), strict=True):
            expect_equal(impl, gradient, expected, "the gradients of all outputs are counted")


@requirement("graphed-callables.unused-outputs")
def test_output_that_the_loss_leaves_out(impl: Adapter) -> None:
    """An output without an incoming gradient counts as zero, also after a call in which it had one."""
    graphed = impl.make_graphed_callables(lambda x: (x * x, x * 7.0), (leaf(impl, ramp(SIZE)),))
    for both in (True, False, True, False):
        x = leaf(impl, ramp(SIZE, 4))
        square, multiple = graphed(x)
        (gradient,) = torch.autograd.grad((square + multiple if both else square).sum(), x)
        expect_equal(
            impl, gradient, ramp(SIZE, 4) * 2.0 + (7.0 if both else 0.0), "an output left out contributes nothing"
        )


@requirement("graphed-callables.parameter-gradients")
def test_gradient_of_a_shared_parameter(impl: Adapter) -> None:
    """A parameter of two callables of a tuple gets the gradients of both."""
    first, second = Scale().to(impl.device), Scale().to(impl.device)
    second.weight = first.weight
    weight, bias = ramp(SIZE, 1), ramp(SIZE, -9)
    samples = ((leaf(impl, ramp(SIZE)),), (leaf(impl, ramp(SIZE)),))
    graphed = impl.make_graphed_callables((first, second), samples)
    for start in STARTS:
        now = ramp(SIZE, start)
        first.weight.grad = None
        graphed[1](graphed[0](leaf(impl, now))).sum().backward()
        promise = "backward gives a parameter that two callables have the sum of its gradients"
        expect_equal(impl, gradient_of(first.weight, promise), weight * now + (weight * now + bias), promise)


@requirement("graphed-callables.parameter-gradients")
def test_gradients_of_parameters(impl: Adapter) -> None:
    """Element by element: parameters get the gradients of the current argument."""
    source = Scale().to(impl.device)
    module = impl.make_graphed_callables(source, (impl.tensor(ramp(SIZE)),))
    for start in STARTS:
        source.zero_grad(set_to_none=True)
        module(impl.tensor(ramp(SIZE, start))).backward(impl.full(SIZE, 2.0))
        promise = "backward gives a parameter the gradient of the module"
        expect_equal(impl, gradient_of(source.weight, promise), ramp(SIZE, start) * 2.0, promise)
        expect_equal(impl, gradient_of(source.bias, promise), 2.0, promise)


@requirement("graphed-callables.parameter-gradients")
def test_gradients_of_a_network(impl: Adapter) -> None:
    """All parameters of a deeper module, and its argument, get their gradients."""
    model, host = twins(impl, network(5, 7, 3))
    graphed = impl.make_graphed_callables(model, (leaf(impl, wave((4, 5), 0.1)),))
    for step in range(3):
        x, host_x = leaf(impl, wave((4, 5), step + 0.5)), wave((4, 5), step + 0.5).requires_grad_()
        for one in (model, host):
            one.zero_grad(set_to_none=True)
        graphed(x).square().sum().backward()
        host(host_x).square().sum().backward()
        pairs = [(x, host_x), *zip(model.parameters(), host.parameters(), strict=True)]
        for tensor, expected in pairs:
            expect_close(impl, tensor.grad, expected.grad, "backward gives the gradients of the eager module")


@requirement("graphed-callables.no-gradient-inputs")
def test_argument_without_gradient(impl: Adapter) -> None:
    """Between two arguments that require grad, one that does not."""
    samples = (leaf(impl, ramp(SIZE)), impl.tensor(ramp(SIZE, 1)), leaf(impl, ramp(SIZE, 2)))
    graphed = expect_no_raise(
        "callables are graphed with samples of which some require grad",
        lambda: impl.make_graphed_callables(lambda a, b, c: a * b + c * 3.0, samples),
    )
    for start in STARTS:
        a, b, c = leaf(impl, ramp(SIZE)), impl.tensor(ramp(SIZE, start)), leaf(impl, ramp(SIZE, 8))
        promise = "an argument that requires grad gets its gradient, whatever the other arguments are"
        expect_no_raise(promise, partial(graphed, a, b, c)).sum().backward()
        expect_equal(impl, gradient_of(a, promise), ramp(SIZE, start), promise)
        expect_equal(impl, gradient_of(c, promise), 3.0, promise)
        expect(b.grad is None, "an argument that requires no grad gets none", f"{b.grad}")


@requirement("graphed-callables.no-gradient-inputs")
def test_frozen_parameter(impl: Adapter) -> None:
    """A parameter that requires no grad gets none; the other one does."""
    source = Scale().to(impl.device)
    source.weight.requires_grad_(False)
    module = impl.make_graphed_callables(source, (impl.tensor(ramp(SIZE)),))
    for start in STARTS:
        source.zero_grad(set_to_none=True)
        (module(impl.tensor(ramp(SIZE, start))) * 4.0).sum().backward()
        promise = "a trainable parameter gets its gradient next to a frozen one"
        expect_equal(impl, gradient_of(source.bias, promise), 4.0, promise)
        expect(source.weight.grad is None, "a frozen parameter gets no gradient", f"{source.weight.grad}")


@pytest.mark.parametrize("kind", ["function", "module", "several-outputs"])
@requirement("graphed-callables.single-autograd-node")
def test_one_node(impl: Adapter, kind: str) -> None:
    """Between the outputs of a call and its leaves there is one node, the same for all of them."""

    def chain(x: torch.Tensor) -> torch.Tensor:
        for _ in range(5):
            x = (x * 2.0).relu() + 1.0
        return x

    sources: dict[str, Callable[[], Any]] = {
        "function": lambda: chain,
        "module": lambda: network(SIZE, 7, 3).to(impl.device),
        "several-outputs": lambda: lambda x: (chain(x), x * 3.0, chain(x) * x),
    }
    graphed = impl.make_graphed_callables(sources[kind](), (leaf(impl, ramp(SIZE)),))
    result = graphed(leaf(impl, ramp(SIZE, 3)))
    outputs = result if isinstance(result, tuple) else (result,)
    nodes = [output.grad_fn for output in outputs]
    if any(node is None for node in nodes):
        fail("a graphed callable's output is part of the autograd graph", "it has no grad_fn")
    expect(
        len({id(node) for node in nodes}) == 1, "a graphed callable is one autograd node", f"its outputs have {nodes}"
    )
    behind = [node for node, _ in nodes[0].next_functions if node is not None]
    deeper = [node.name() for node in behind if node.next_functions]
    expect(not deeper, "a graphed callable is one autograd node", f"further nodes behind it: {deeper}")


@pytest.mark.parametrize("kind", ["function", "module"])
@requirement("graphed-callables.backward-replays", "graphed-callables.replays-only")
def test_passes_run_no_more(impl: Adapter, kind: str) -> None:
    """Once graphed, neither the source's forward nor its backward code runs, and the gradients are right."""
    module = WatchedScale().to(impl.device)
    source: Any = module if kind == "module" else Watched.apply
    graphed = impl.make_graphed_callables(source, (leaf(impl, ramp(SIZE)),))
    factor = ramp(SIZE, 1) * 2.0 if kind == "module" else torch.full((SIZE,), 2.0)
    Watched.passes.clear()
    for start in STARTS:
        x, incoming = leaf(impl, ramp(SIZE, start)), ramp(SIZE, 2 - start)
        graphed(x).backward(impl.tensor(incoming))
        promise = "backward gives an argument the gradient of the source callable"
        expect_equal(impl, gradient_of(x, promise), factor * incoming, promise)
    promise = "calls and their backward passes replay captured work"
    expect(not Watched.passes, promise, f"Python ran {Watched.passes} in {len(STARTS)} calls")


@requirement("graphed-callables.partial-network")
def test_eager_code_around(impl: Adapter) -> None:
    """Eager layers before and after a graphed one: all gradients, and a branch that depends on data."""
    model, host = twins(impl, torch.nn.Sequential(network(5, 7), network(7, 6, 7), network(7, 3)))
    assert isinstance(model, torch.nn.Sequential)
    parameters = list(model.parameters())
    model[1] = impl.make_graphed_callables(model[1], (leaf(impl, wave((4, 7), 0.2)),))
    for step in range(4):
        for one in (model, host):
            one.zero_grad(set_to_none=True)
        x = wave((4, 5), step + 0.5)
        y, host_y = model(impl.tensor(x)), host(x)
        if step % 2:
            y, host_y = y * -2.0, host_y * -2.0
        expect_close(impl, y, host_y, "a graphed part of a network gives the results of the eager one")
        y.square().sum().backward()
        host_y.square().sum().backward()
        for weight, expected in zip(parameters, host.parameters(), strict=True):
            expect_close(impl, weight.grad, expected.grad, "gradients flow through eager and graphed parts alike")


@requirement("graphed-callables.double-backward-refused")
def test_double_backward(impl: Adapter) -> None:
    """A second derivative through a graphed callable is an error, or right."""
    graphed = impl.make_graphed_callables(lambda x: x * x * x, (leaf(impl, ramp(SIZE)),))
    x = leaf(impl, ramp(SIZE, 1) * 0.25)

    def differentiate() -> None:
        (gradient,) = torch.autograd.grad(graphed(x).square().sum(), x, create_graph=True)
        # The second factor has a derivative of its own: were the first one's just left out, a wrong number would come.
        torch.autograd.backward((gradient * x).sum())

    if caught(differentiate) is None:
        # What is differentiated is x to the sixth: its derivative times x is six times that.
        expected = (ramp(SIZE, 1) * 0.25) ** 5 * 36.0
        promise = "differentiating a gradient of a graphed callable is refused or right"
        expect_close(impl, gradient_of(x, promise), expected, promise)


@requirement("graphed-callables.unused-input-refused")
def test_unused_argument(impl: Adapter) -> None:
    """An argument that requires grad and influences nothing is an error, and leaves nothing behind."""
    _expect_refused(impl, "argument")


@requirement("graphed-callables.unused-parameter-refused")
def test_unused_parameter(impl: Adapter) -> None:
    """A parameter that influences nothing is an error, and leaves nothing behind."""
    _expect_refused(impl, "parameter")


def _expect_refused(impl: Adapter, kind: str) -> None:
    source, samples = _with_unused(impl, kind)
    promise = f"an unused {kind} is an error unless it is allowed"
    expect_raises(promise, lambda: impl.make_graphed_callables(source, samples))
    expect(not impl.is_current_stream_capturing(), "a refused callable leaves no capture open", "one is open")


@pytest.mark.parametrize("kind", ["argument", "parameter"])
@requirement("graphed-callables.unused-input-allowed")
def test_allowed_unused_input(impl: Adapter, kind: str) -> None:
    """An allowed unused input has no gradient; the used ones have theirs."""
    source, samples = _with_unused(impl, kind)
    graphed = expect_no_raise(
        "with allow_unused_input=True an unused input is no error",
        lambda: impl.make_graphed_callables(source, samples, allow_unused_input=True),
    )
    for start in STARTS:
        used_input = leaf(impl, ramp(SIZE, start))
        unused_input = source.bias if isinstance(source, _Square) else leaf(impl, ramp(SIZE))
        y = graphed(used_input) if kind == "parameter" else graphed(used_input, unused_input)
        expect_equal(impl, y, ramp(SIZE, start).square(), "a callable with an unused input computes its results")
        y.sum().backward()
        promise = "a used input has its gradient next to an unused one"
        expect_equal(impl, gradient_of(used_input, promise), ramp(SIZE, start) * 2.0, promise)
        if unused_input.grad is not None:
            expect_equal(impl, unused_input.grad, 0.0, "an unused input has no gradient, or one of zeros")


class _Square(torch.nn.Module):
    """The square of its argument, with a parameter that does nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.bias = torch.nn.Parameter(ramp(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * x


def _with_unused(impl: Adapter, kind: str) -> tuple[Any, tuple[torch.Tensor, ...]]:
    if kind == "parameter":
        return _Square().to(impl.device), (leaf(impl, ramp(SIZE)),)
    return (lambda x, _unused: x * x), (leaf(impl, ramp(SIZE)), leaf(impl, ramp(SIZE, 1)))


@requirement("graphed-callables.late-backward")
def test_backward_after_another_call(impl: Adapter, observe: Any) -> None:
    """Notes what the backward pass of the first of two calls gives."""
    graphed = impl.make_graphed_callables(lambda x: x * x, (leaf(impl, ramp(SIZE)),))
    first = leaf(impl, ramp(SIZE, 1))
    y = graphed(first)
    graphed(leaf(impl, ramp(SIZE, 40)))
    try:
        (gradient,) = torch.autograd.grad(y.sum(), first)
    except Exception:
        observe("backward_of_an_earlier_call", "refused")
        return
    right = torch.equal(impl.read(gradient), ramp(SIZE, 1) * 2.0)
    observe("backward_of_an_earlier_call", "right" if right else "wrong")
