"""Training loops with graphed modules: eager loops in all but speed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal
from conformance.markers import requirement
from suites.graphed_callables.programs import SIZE, Scale, expect_close, gradient_of, leaf, network, twins, wave
from suites.support.programs import ramp

OPTIMIZERS: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.05),
    "momentum": lambda parameters: torch.optim.SGD(parameters, lr=0.05, momentum=0.9),
    "adam": lambda parameters: torch.optim.Adam(parameters, lr=0.02),
}
STEPS = 8


def _train(impl: Adapter, model: nn.Module, parameters: list[nn.Parameter], host: nn.Module, optimizer: str) -> None:
    """Train both models alike, the first one by the `parameters` that it had before; reject when they differ."""
    optimizers = [OPTIMIZERS[optimizer](those) for those in (parameters, host.parameters())]
    for step in range(STEPS):
        x, target = wave((4, 5), step + 0.5), wave((4, 3), step + 5.0)
        for one in optimizers:
            one.zero_grad(set_to_none=True)
        loss = nn.functional.mse_loss(model(impl.tensor(x)), impl.tensor(target))
        host_loss = nn.functional.mse_loss(host(x), target)
        torch.autograd.backward(loss)
        torch.autograd.backward(host_loss)
        for one in optimizers:
            one.step()
        expect_close(impl, loss, host_loss, f"step {step} of a graphed training loop has the eager loop's loss")
    for parameter, expected in zip(parameters, host.parameters(), strict=True):
        expect_close(impl, parameter, expected, "a graphed training loop ends with the eager loop's parameters")


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@requirement("graphed-callables.training-loop")
def test_module(impl: Adapter, optimizer: str) -> None:
    """A whole model as one graphed module."""
    model, host = twins(impl, network(5, 7, 6, 3))
    graphed = impl.make_graphed_callables(model, (impl.tensor(wave((4, 5), 0.1)),))
    _train(impl, graphed, list(model.parameters()), host, optimizer)


@requirement("graphed-callables.training-loop")
def test_modules_of_a_tuple(impl: Adapter) -> None:
    """Two graphed parts with an eager one between them."""
    model, host = twins(impl, nn.Sequential(network(5, 7), nn.Softplus(), network(7, 6, 3)))
    assert isinstance(model, nn.Sequential)
    parameters = list(model.parameters())
    model[0], model[2] = impl.make_graphed_callables(
        (model[0], model[2]), ((impl.tensor(wave((4, 5), 0.1)),), (leaf(impl, wave((4, 7), 0.2)),))
    )
    _train(impl, model, parameters, host, "momentum")


@requirement("graphed-callables.current-parameters")
def test_parameters_changed_in_place(impl: Adapter) -> None:
    """New values in the parameters' memory are used by the next call and its backward pass."""
    source = Scale().to(impl.device)
    module = impl.make_graphed_callables(source, (leaf(impl, ramp(SIZE)),))
    for start in (2, 30, -11):
        with torch.no_grad():
            source.weight.copy_(impl.tensor(ramp(SIZE, start)))
            source.bias.fill_(float(start))
        x = leaf(impl, ramp(SIZE, 5))
        y = module(x)
        expect_equal(impl, y, ramp(SIZE, start) * ramp(SIZE, 5) + start, "a call uses what the parameters hold now")
        (gradient,) = torch.autograd.grad(y.sum(), x)
        expect_equal(impl, gradient, ramp(SIZE, start), "backward uses what the parameters hold now")


@pytest.mark.parametrize("zeroed", ["none", "in-place"])
@requirement("graphed-callables.gradient-accumulation")
def test_gradients_add_up(impl: Adapter, zeroed: str) -> None:
    """Three backward passes between two steps, with gradients dropped or zeroed in place."""
    source = Scale().to(impl.device)
    module = impl.make_graphed_callables(source, (impl.tensor(ramp(SIZE)),))
    for _ in range(3):
        source.zero_grad(set_to_none=zeroed == "none")
        total = torch.zeros(SIZE)
        for start in (2, 30, -11):
            module(impl.tensor(ramp(SIZE, start))).sum().backward()
            total += ramp(SIZE, start)
            promise = "gradients of several backward passes add up"
            expect_equal(impl, gradient_of(source.weight, promise), total, promise)


@requirement("graphed-callables.gradient-accumulation")
def test_gradients_of_the_past_stay(impl: Adapter) -> None:
    """A gradient that was taken from a parameter is not changed by the next backward pass."""
    source = Scale().to(impl.device)
    module = impl.make_graphed_callables(source, (impl.tensor(ramp(SIZE)),))
    gradients = []
    for start in (2, 30, -11):
        source.zero_grad(set_to_none=True)
        module(impl.tensor(ramp(SIZE, start))).sum().backward()
        gradients.append(gradient_of(source.weight, "backward gives a parameter a gradient"))
    for start, gradient in zip((2, 30, -11), gradients, strict=True):
        expect_equal(impl, gradient, ramp(SIZE, start), "a parameter's gradient belongs to the user")


@requirement("graphed-callables.buffers-advance")
def test_running_statistics(impl: Adapter) -> None:
    """Each call advances the running statistics of batch normalisation by one update."""
    model, host = twins(impl, nn.BatchNorm1d(5, momentum=0.5))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    graphed = impl.make_graphed_callables(model, (impl.tensor(wave((7, 5), 0.1)),))
    model.load_state_dict(before)  # warming up may have advanced them
    for step in range(4):
        x = wave((7, 5), step + 0.5)
        expect_close(impl, graphed(impl.tensor(x)), host(x), "batch normalisation gives the eager results")
        for (name, buffer), expected in zip(model.named_buffers(), host.buffers(), strict=True):
            expect_close(impl, buffer, expected, f"after call {step + 1}, {name} is that of as many eager calls")


@requirement("graphed-callables.random-masks", "replay.random-fresh")
def test_dropout(impl: Adapter) -> None:
    """Each call draws a mask of its own, and its backward pass uses that mask."""
    impl.manual_seed(1234)
    graphed = impl.make_graphed_callables(lambda x: nn.functional.dropout(x * 3.0, 0.5), (leaf(impl, ramp(SIZE, 1)),))
    impl.manual_seed(99)
    masks = []
    for start in (1, 40, 7, 90):
        x = leaf(impl, ramp(SIZE, start))
        y = graphed(x)
        values = impl.read(y)
        mask = values != 0.0
        expect_equal(impl, y, torch.where(mask, ramp(SIZE, start) * 6.0, 0.0), "dropout keeps and scales, or drops")
        (gradient,) = torch.autograd.grad(y.sum(), x)
        expect_equal(impl, gradient, mask * 6.0, "backward uses the mask that its forward pass drew")
        masks.append(mask)
    equal = [step for step in range(3) if torch.equal(masks[step], masks[step + 1])]
    expect(not equal, "each call draws new numbers", f"calls with the mask of the next one: {equal}")
