"""Backward passes and optimizer steps inside a capture."""

from __future__ import annotations

import torch

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, fail
from conformance.markers import requirement
from suites.capture.programs import warm_up
from suites.support.captures import BOTH_WAYS, capture_by, captured, replay
from suites.support.programs import ramp

SHAPE = (3, 5)


def _parameter(impl: Adapter, start: int = 1) -> torch.Tensor:
    return impl.tensor(ramp(SHAPE, start)).requires_grad_()


def _gradient(weight: torch.Tensor) -> torch.Tensor:
    gradient = weight.grad
    if gradient is None:
        fail("a backward pass inside a capture gives the parameter a gradient", "weight.grad is None")
    return gradient


@BOTH_WAYS
@requirement("capture.backward")
def test_backward_inside(impl: Adapter, way: str) -> None:
    """A backward pass inside the capture: each replay computes loss and gradient of the current input."""
    weight, x = _parameter(impl), impl.full(SHAPE, 1.0)

    def body() -> torch.Tensor:
        weight.grad = None
        loss = (weight * x * x).sum()
        torch.autograd.backward(loss)
        return loss.detach()

    warm_up(impl, body)
    weight.grad = None
    graph = impl.new_graph()
    loss = capture_by(impl, way, graph, body)
    gradient = _gradient(weight)
    for start in (2, 20, -7):
        now = ramp(SHAPE, start)
        x.copy_(impl.tensor(now))
        gradient.fill_(-1.0)
        loss.fill_(-1.0)
        replay(impl, graph)
        expect_equal(impl, loss, (ramp(SHAPE, 1) * now * now).sum(), "a replay computes the forward pass again")
        expect_equal(impl, gradient, now * now, "a replay computes the gradient of the current input")
        expect(weight.grad is gradient, "the gradient tensor is static", "another object after a replay")


@requirement("capture.backward")
def test_grad_inside(impl: Adapter) -> None:
    """torch.autograd.grad inside the capture gives static gradients of parameter and input."""
    weight, x = _parameter(impl), _parameter(impl, 4)

    def body() -> tuple[torch.Tensor, ...]:
        hidden = (weight * x).relu()
        return torch.autograd.grad((hidden * hidden).sum(), (weight, x))

    warm_up(impl, body)
    graph, gradients = captured(impl, body)
    for start in (3, 12, -8):
        now = ramp(SHAPE, start)
        with torch.no_grad():
            x.copy_(impl.tensor(now))
        for gradient in gradients:
            gradient.fill_(-1.0)
        replay(impl, graph)
        hidden = (ramp(SHAPE, 1) * now).clamp(min=0.0)
        expect_equal(impl, gradients[0], 2.0 * hidden * now, "a replay computes the gradient of the parameter")
        expect_equal(impl, gradients[1], 2.0 * hidden * ramp(SHAPE, 1), "a replay computes the gradient of the input")


@requirement("capture.backward")
def test_backward_of_a_matrix_product(impl: Adapter) -> None:
    """Forward and backward of a linear layer, whose backward uses the library that forward uses."""
    weight, x = _parameter(impl), impl.full((7, 5), 1.0)

    def body() -> None:
        weight.grad = None
        torch.autograd.backward(torch.nn.functional.linear(x, weight).sum())

    warm_up(impl, body)
    weight.grad = None
    graph, _ = captured(impl, body)
    gradient = _gradient(weight)
    for start in (1, 9, -15):
        now = ramp((7, 5), start)
        x.copy_(impl.tensor(now))
        gradient.fill_(-1.0)
        replay(impl, graph)
        expect_equal(impl, gradient, now.sum(dim=0).expand(SHAPE), "a replay computes the gradient of a linear layer")


@requirement("capture.gradient-memory")
def test_gradient_made_inside_is_overwritten(impl: Adapter) -> None:
    """A gradient that the captured backward created does not add up over replays."""
    weight, x = _parameter(impl), impl.full(SHAPE, 3.0)

    def body() -> None:
        weight.grad = None
        torch.autograd.backward((weight * x).sum())

    warm_up(impl, body)
    weight.grad = None
    graph, _ = captured(impl, body)
    gradient = _gradient(weight)
    replay(impl, graph, times=3)
    expect_equal(impl, gradient, 3.0, "a gradient made inside the capture is overwritten by each replay")


@requirement("capture.gradient-memory")
def test_gradient_from_before_is_added_to(impl: Adapter) -> None:
    """A gradient that existed before the capture is accumulated into, at its address."""
    weight, x = _parameter(impl), impl.full(SHAPE, 3.0)

    def body() -> None:
        torch.autograd.backward((weight * x).sum())

    warm_up(impl, body)
    weight.grad = impl.full(SHAPE, 10.0)
    gradient = _gradient(weight)
    address = gradient.data_ptr()
    graph, _ = captured(impl, body)
    expect_equal(impl, gradient, 10.0, "captured work does not run before a replay")
    for count in range(1, 4):
        replay(impl, graph)
        expect_equal(impl, gradient, 10.0 + 3.0 * count, "each replay adds to a gradient from before the capture")
    expect(
        weight.grad is gradient and gradient.data_ptr() == address,
        "accumulation keeps the gradient tensor and its memory",
        "another tensor or address",
    )


@requirement("capture.optimizer-step")
def test_training_step(impl: Adapter) -> None:
    """zero_grad, forward, backward and step in one capture: each replay is one step of gradient descent."""
    weight, x = _parameter(impl), impl.full(SHAPE, 0.0)
    optimizer = torch.optim.SGD([weight], lr=0.5)

    def body() -> None:
        optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward((weight * x).sum())
        optimizer.step()

    warm_up(impl, body)
    optimizer.zero_grad(set_to_none=True)
    graph, _ = captured(impl, body)
    expected = ramp(SHAPE, 1)
    with torch.no_grad():
        weight.copy_(impl.tensor(expected))
    for start in (2, 16, -10, 4):
        now = ramp(SHAPE, start)
        x.copy_(impl.tensor(now))
        replay(impl, graph)
        expected = expected - 0.5 * now
        expect_equal(impl, weight, expected, "each replay of a training step advances the parameters by one step")


@requirement("capture.optimizer-step")
def test_training_step_with_momentum(impl: Adapter) -> None:
    """The optimizer's own state is advanced by replays as by eager steps."""
    weight, x = _parameter(impl), impl.full(SHAPE, 0.0)
    optimizer = torch.optim.SGD([weight], lr=0.25, momentum=0.5)

    def body() -> None:
        optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward((weight * x).sum())
        optimizer.step()

    warm_up(impl, body)  # with an input of zeros, so the momentum buffer exists and holds zeros
    optimizer.zero_grad(set_to_none=True)
    graph, _ = captured(impl, body)
    expected, momentum = ramp(SHAPE, 1), torch.zeros(SHAPE)
    for start in (4, 16, -8, 12):
        now = ramp(SHAPE, start)
        x.copy_(impl.tensor(now))
        replay(impl, graph)
        momentum = 0.5 * momentum + now
        expected = expected - 0.25 * momentum
        expect_equal(impl, weight, expected, "each replay advances the parameters and the optimizer's momentum")
