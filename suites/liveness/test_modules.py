"""Parameters, gradients and pinned host memory are inputs too."""

from __future__ import annotations

import gc
from typing import Any

import torch

from conformance.adapter import Adapter
from conformance.markers import requirement
from suites.support.liveness import checked, expect_alive, expect_dead
from suites.support.programs import POISON, SIZE
from suites.support.streams import side_stream


class Scale(torch.nn.Module):
    """An element-wise layer, so that no library handles are needed in a capture."""

    def __init__(self, impl: Adapter) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(impl.full(SIZE, 3.0))
        self.bias = torch.nn.Parameter(impl.full(SIZE, 1.0))

    def forward(self, source: torch.Tensor) -> torch.Tensor:
        """`weight * source + bias`."""
        return self.weight * source + self.bias


@requirement("liveness.parameters")
def test_a_deleted_modules_parameters_are_dead(impl: Adapter) -> None:
    """Inference with a module that is deleted after the capture."""
    modules = [Scale(impl)]
    source, out = impl.full(SIZE, 2.0), impl.full(SIZE, POISON)

    def body() -> None:
        with torch.no_grad():
            out.copy_(modules[0](source))

    graph, _ = checked(impl, body)
    for value in (2.0, -4.0):
        source.fill_(value)
        expect_alive(impl, graph, out, 3 * value + 1, "the module lives")
    modules.clear()
    gc.collect(1)
    expect_dead(graph, "the module was deleted")


def _inference(impl: Adapter, module: Scale) -> Any:
    """A checked graph of the module's forward pass, which has replayed."""
    source, out = impl.full(SIZE, 2.0), impl.full(SIZE, POISON)

    def body() -> None:
        with torch.no_grad():
            out.copy_(module(source))

    graph, _ = checked(impl, body)
    expect_alive(impl, graph, out, 7.0, "the module has not changed")
    return graph


@requirement("liveness.parameters")
def test_a_replaced_parameter_is_dead(impl: Adapter) -> None:
    """The module lives, but the weight that the graph reads is gone."""
    module = Scale(impl)
    graph = _inference(impl, module)
    module.weight = torch.nn.Parameter(impl.full(SIZE, 9.0))
    gc.collect(1)
    expect_dead(graph, "a parameter of the module was replaced")


@requirement("liveness.replaced-storage")
def test_converted_parameters_are_dead(impl: Adapter) -> None:
    """Module and parameters live, but in other memory than the graph reads."""
    module = Scale(impl)
    graph = _inference(impl, module)
    module.double()
    gc.collect(1)
    expect_dead(graph, "the module was converted")


@requirement("liveness.parameters")
def test_gradients_set_to_none_are_dead(impl: Adapter) -> None:
    """A captured update reads gradients; zeroing them by dropping them takes them away."""
    parameter = torch.nn.Parameter(impl.full(SIZE, 10.0))
    parameter.grad = impl.full(SIZE, 2.0)
    gradients = [parameter.grad]
    out = impl.full(SIZE, POISON)

    def body() -> None:
        with torch.no_grad():
            out.copy_(parameter - 0.5 * gradients[0])

    graph, _ = checked(impl, body)
    expect_alive(impl, graph, out, 9.0, "parameter and gradient live")
    gradients[0].zero_()
    gradients.clear()
    expect_alive(impl, graph, out, 10.0, "the gradient was zeroed in place")
    torch.optim.SGD([parameter], lr=0.1).zero_grad(set_to_none=True)
    expect_dead(graph, "the gradient was set to None")


@requirement("liveness.tracks-backward")
def test_tensors_of_the_backward_pass_only_are_inputs(impl: Adapter) -> None:
    """The seed of a captured backward pass is used by no forward operator."""
    weight = impl.full(SIZE, 3.0).requires_grad_()
    source, out = impl.full(SIZE, 2.0), impl.full(SIZE, POISON)
    inputs = [impl.full(SIZE, 1.0)]

    def body() -> None:
        (gradient,) = torch.autograd.grad(weight * source, weight, inputs[0])
        out.copy_(gradient)

    with side_stream(impl) as stream:
        body()
    graph, _ = checked(impl, body, stream=stream)
    for value in (4.0, -1.5):
        inputs[0].fill_(value)
        expect_alive(impl, graph, out, 2 * value, "the seed of the backward pass lives")
    inputs.clear()
    gc.collect(1)
    expect_dead(graph, "the seed of the backward pass was deleted")


@requirement("liveness.parameters")
def test_a_training_step_with_everything_alive(impl: Adapter) -> None:
    """Forward, backward and update in one checked capture: no alarm while module and data live."""
    module = Scale(impl)
    source, out = impl.full(SIZE, 2.0), impl.full(SIZE, POISON)
    parameters = [module.weight, module.bias]

    def body() -> None:
        gradients = torch.autograd.grad(module(source).sum(), parameters)
        with torch.no_grad():
            out.copy_(parameters[0] - gradients[0] + gradients[1])

    with side_stream(impl) as stream:
        body()
    graph, _ = checked(impl, body, stream=stream)
    for value in (4.0, -1.5, 0.0):
        source.fill_(value)
        expect_alive(impl, graph, out, 3.0 - value + 1.0, "a whole training step, everything alive")


@requirement("liveness.pinned-inputs")
def test_a_living_pinned_input_raises_no_alarm(impl: Adapter) -> None:
    """Replays copy what the host wrote into the pinned tensor since."""
    host = impl.pinned(torch.full((SIZE,), 1.0))
    out = impl.full(SIZE, POISON)
    graph, _ = checked(impl, lambda: out.copy_(host, non_blocking=True))
    for value in (4.0, -2.0, 0.5):
        impl.synchronize()
        host.fill_(value)
        expect_alive(impl, graph, out, value, "the pinned input lives")


@requirement("liveness.pinned-inputs")
def test_a_dead_pinned_input_is_refused(impl: Adapter) -> None:
    """A pinned tensor is deleted after the capture that copies from it."""
    inputs = [impl.pinned(torch.full((SIZE,), 1.0))]
    out = impl.full(SIZE, POISON)
    graph, _ = checked(impl, lambda: out.copy_(inputs[0], non_blocking=True))
    expect_alive(impl, graph, out, 1.0, "the pinned input lives")
    inputs.clear()
    expect_dead(graph, "the pinned input was deleted")
