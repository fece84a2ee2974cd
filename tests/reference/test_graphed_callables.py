"""Graphed callables on the software device: training loops equal the eager ones bit for bit."""

from __future__ import annotations

import copy
import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import reference_impl as ref

STEPS = 20
SHAPE = (5, 13)


class Block(nn.Module):
    """A transformer block with dropout in attention and feed-forward."""

    def __init__(self, width: int = 24, heads: int = 3) -> None:
        super().__init__()
        self.heads = heads
        self.norm, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.feed = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 40), nn.GELU(), nn.Dropout(0.3), nn.Linear(40, width)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        attended = nn.functional.scaled_dot_product_attention(q, k, v, dropout_p=0.2, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.feed(x)


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(13, 17), nn.ReLU(), nn.Dropout(0.4), nn.Linear(17, 3))


def convolutions() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 5, 3, padding=1), nn.BatchNorm2d(5), nn.ReLU(), nn.Conv2d(5, 4, 2))


class Chain(nn.Module):
    """Two modules, graphed apart, around one that is not."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.middle = mlp(), nn.Linear(3, 3)
        self.last = nn.Sequential(nn.Linear(3, 7), nn.Dropout(0.2), nn.Tanh())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.middle(self.first(x)))


MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "mlp": (mlp, SHAPE),
    "transformer": (Block, (2, 7, 24)),
    "convolutions": (convolutions, (2, 3, 6, 5)),
    "two-modules": (Chain, SHAPE),
}
OPTIMIZERS: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.05, momentum=0.9),
    "adam": lambda parameters: torch.optim.Adam(parameters, lr=0.01),
}


def graph_model(model: nn.Module, shape: tuple[int, ...]) -> None:
    if isinstance(model, Chain):
        hidden = torch.randn(shape[0], 3, requires_grad=True)
        modules = ref.make_graphed_callables((model.first, model.last), ((torch.randn(shape),), (hidden,)))
        assert modules == (model.first, model.last)
    else:
        assert ref.make_graphed_callables(model, (torch.randn(shape),)) is model


def train(
    name: str, optimizer: str, *, graphed: bool, to_none: bool = True, parts: int = 1
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """The losses of every step, and parameters and buffers at the end."""
    build, shape = MODELS[name]
    torch.manual_seed(0)
    model = build()
    state = copy.deepcopy(model.state_dict())
    if graphed:
        graph_model(model, shape)
        model.load_state_dict(state)  # warming up advanced the running statistics
    steps = OPTIMIZERS[optimizer](model.parameters())
    torch.manual_seed(7)
    losses = []
    for _ in range(STEPS):
        steps.zero_grad(set_to_none=to_none)
        for _ in range(parts):
            loss = model(torch.randn(shape)).square().mean()
            loss.backward()
            losses.append(loss.detach().clone())
        steps.step()
    return losses, [tensor.detach().clone() for tensor in model.state_dict().values()]


def assert_same(actual: list[torch.Tensor], expected: list[torch.Tensor]) -> None:
    for number, (a, b) in enumerate(zip(actual, expected, strict=True)):
        assert torch.equal(a, b), f"tensor {number}: {a} is not {b}"


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", MODELS)
def test_training_equals_eager(name: str, optimizer: str) -> None:
    for actual, expected in zip(
        train(name, optimizer, graphed=True), train(name, optimizer, graphed=False), strict=True
    ):
        assert_same(actual, expected)


@pytest.mark.parametrize("to_none", [True, False], ids=["none", "zeros"])
def test_accumulated_gradients_equal_eager(to_none: bool) -> None:
    graphed = train("two-modules", "sgd", graphed=True, to_none=to_none, parts=3)
    for actual, expected in zip(
        graphed, train("two-modules", "sgd", graphed=False, to_none=to_none, parts=3), strict=True
    ):
        assert_same(actual, expected)


def test_function_of_nested_arguments() -> None:
    def function(pair: dict[str, torch.Tensor], rest: list[torch.Tensor]) -> dict[str, Any]:
        product = pair["a"] * rest[0]
        return {"sum": product + pair["b"], "parts": (product.sin(), rest[0] > 0)}

    def arguments() -> tuple[dict[str, torch.Tensor], list[torch.Tensor]]:
        a, b, c = (torch.randn(3, 5) for _ in range(3))
        return {"a": a.requires_grad_(), "b": b}, [c.requires_grad_()]

    graphed = ref.make_graphed_callables(function, arguments())
    for _ in range(4):
        args = arguments()
        leaves = args[0]["a"], args[1][0]
        actual, expected = graphed(*args), function(*args)
        assert actual.keys() == expected.keys()
        assert isinstance(actual["parts"], tuple)
        assert not actual["parts"][1].requires_grad
        assert torch.equal(actual["parts"][1], expected["parts"][1])
        assert torch.equal(actual["sum"], expected["sum"])
        assert_same(
            list(torch.autograd.grad((actual["sum"] * 3 + actual["parts"][0]).sum(), leaves)),
            list(torch.autograd.grad((expected["sum"] * 3 + expected["parts"][0]).sum(), leaves)),
        )


def test_output_that_the_loss_leaves_out_counts_as_zero() -> None:
    x = torch.randn(7, requires_grad=True)
    graphed = ref.make_graphed_callables(lambda x: (x * 2, x * x), (x,))
    for _ in range(3):
        argument = torch.randn(7, requires_grad=True)
        (gradient,) = torch.autograd.grad(graphed(argument)[0].sum(), argument)
        assert gradient.tolist() == [2.0] * 7


def test_the_sample_is_the_static_input() -> None:
    x = torch.ones(7)
    graphed = ref.make_graphed_callables(lambda x: x + 1, (x,))
    assert graphed(torch.full((7,), 5.0)).tolist() == [6.0] * 7
    assert x.tolist() == [5.0] * 7
    x.fill_(9.0)
    assert graphed(x).tolist() == [10.0] * 7


def test_another_view_of_the_static_input() -> None:
    x = torch.zeros(3, 3)
    graphed = ref.make_graphed_callables(lambda x: x * 1, (x,))
    x.copy_(torch.arange(9.0).view(3, 3))
    assert torch.equal(graphed(x.t()), torch.arange(9.0).view(3, 3).t())


def test_one_sample_for_two_arguments() -> None:
    x = torch.ones(5, requires_grad=True)
    first, second = ref.make_graphed_callables((lambda a, b: a * b, lambda a: a * a), ((x, x), (x,)))
    a, b = (torch.full((5,), value, requires_grad=True) for value in (3.0, 7.0))
    assert first(a, b).tolist() == [21.0] * 5
    assert [gradient[0].item() for gradient in torch.autograd.grad(second(first(a, b)).sum(), (a, b))] == [294.0, 126.0]


@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
def test_other_mode_runs_the_module(training: bool) -> None:
    calls = []

    class Module(nn.Linear):
        def forward(self, input: torch.Tensor) -> torch.Tensor:  # noqa: A002  # the base class's name
            calls.append(self.training)
            return super().forward(input)

    module = Module(5, 3).train(training)
    ref.make_graphed_callables(module, (torch.ones(2, 5),))
    calls.clear()
    module(torch.ones(2, 5))
    assert not calls
    module.train(not training)
    module(input=torch.ones(4, 5))
    assert calls == [not training]
    module.train(training)
    module(torch.ones(2, 5))
    assert len(calls) == 1


def test_module_can_be_graphed_for_both_modes() -> None:
    module = nn.Sequential(nn.Linear(5, 5), nn.Dropout(0.5))
    ref.make_graphed_callables(module, (torch.ones(2, 5),))
    ref.make_graphed_callables(module.eval(), (torch.ones(2, 5),))
    linear = nn.Linear(5, 5)
    linear.load_state_dict(module[0].state_dict())
    x = torch.randn(2, 5)
    assert torch.equal(module(x), linear(x))
    assert not torch.equal(module.train()(x), linear(x))


def test_callable_without_gradients() -> None:
    graphed = ref.make_graphed_callables(lambda x: x.argmax(1), (torch.randn(4, 9),))
    for _ in range(3):
        x = torch.randn(4, 9)
        assert torch.equal(graphed(x), x.argmax(1))


def test_no_grad() -> None:
    x = torch.ones(5, requires_grad=True)
    graphed = ref.make_graphed_callables(lambda x: x * 2, (x,))
    with torch.no_grad():
        assert not graphed(torch.full((5,), 3.0, requires_grad=True)).requires_grad


def test_pool_is_used_and_kept() -> None:
    pool = ref.graph_pool_handle()
    graphed = ref.make_graphed_callables(lambda x: x * 2, (torch.ones(37, requires_grad=True),), pool=pool)
    assert any(tuple(segment["segment_pool_id"]) == pool for segment in ref.memory_snapshot())
    graphed(torch.ones(37, requires_grad=True)).sum().backward()
    del graphed
    ref.empty_cache()
    assert not any(tuple(segment["segment_pool_id"]) == pool for segment in ref.memory_snapshot())


def test_module_dies_by_reference_count() -> None:
    module = nn.Linear(5, 3)
    ref.make_graphed_callables(module, (torch.ones(2, 5),))
    forward, dead = module.forward, weakref.ref(module)
    gc.collect()
    gc.disable()
    try:
        del module
        assert dead() is None
    finally:
        gc.enable()
    with pytest.raises(RuntimeError, match="the graphed module is gone"):
        forward(torch.ones(2, 5))


@pytest.mark.parametrize("number", [0, 1, 4])
def test_number_of_warm_ups(number: int) -> None:
    calls = []

    def function(x: torch.Tensor) -> torch.Tensor:
        calls.append(ref.is_current_stream_capturing())
        return x * 2

    ref.make_graphed_callables(function, (torch.ones(3, requires_grad=True),), num_warmup_iters=number)
    assert calls == [False] * number + [True]


def test_unused_input_is_refused_unless_allowed() -> None:
    x, y = (torch.ones(3, requires_grad=True) for _ in range(2))
    for number in (0, 2):
        with pytest.raises(RuntimeError, match="not have been used"):
            ref.make_graphed_callables(lambda x, y: x * 2, (x, y), num_warmup_iters=number)
        assert not ref.is_current_stream_capturing()
    graphed = ref.make_graphed_callables(lambda x, y: x * 2, (x, y), allow_unused_input=True)
    graphed(x, y).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0] * 3
    assert y.grad is None


def test_allowed_autocast() -> None:
    module = nn.Linear(5, 3)
    with torch.autocast("cpu", cache_enabled=False):
        ref.make_graphed_callables(module, (torch.ones(2, 5),))
    assert module(torch.ones(2, 5)).dtype is torch.bfloat16


def test_training_under_autocast_converts_what_a_layer_hands_to_the_next() -> None:
    # The samples are in single precision, and in the loop the second layer is given what the first one makes.
    layers = [nn.Linear(7, 7, bias=False) for _ in range(2)]
    eager = copy.deepcopy(layers)
    samples = ((torch.ones(4, 7, requires_grad=True),), (torch.ones(4, 7, requires_grad=True),))
    with torch.autocast("cpu", dtype=torch.bfloat16, cache_enabled=False):
        graphed = ref.make_graphed_callables(tuple(layers), samples)
    for step in range(STEPS):
        data = torch.randn(4, 7, generator=torch.Generator().manual_seed(step))
        gradients = []
        for first, second in (graphed, eager):
            x = data.clone().requires_grad_()
            with torch.autocast("cpu", dtype=torch.bfloat16, cache_enabled=False):
                y = second(first(x).relu())
            assert y.dtype is torch.bfloat16
            y.float().square().sum().backward()
            assert x.grad is not None
            gradients.append([x.grad, first.weight.grad, second.weight.grad])
        for graph_gradient, eager_gradient in zip(*gradients, strict=True):
            assert torch.equal(graph_gradient, eager_gradient)


def test_argument_of_another_dtype_is_converted() -> None:
    x = torch.ones(3, requires_grad=True)
    graphed = ref.make_graphed_callables(lambda x: x * 2, (x,))
    for dtype in (torch.float64, torch.bfloat16, torch.float16):
        given = torch.tensor([1.0, 2.0, 3.0], dtype=dtype, requires_grad=True)
        y = graphed(given)
        y.sum().backward()
        assert (y.dtype, y.tolist()) == (torch.float32, [2.0, 4.0, 6.0])
        assert given.grad is not None
        assert (given.grad.dtype, given.grad.tolist()) == (dtype, [2.0] * 3)
    assert graphed(torch.tensor([4, 5, 6])).tolist() == [8.0, 10.0, 12.0]


def test_argument_of_another_dtype_on_the_memory_of_the_static_input() -> None:
    sample = torch.ones(3)
    graphed = ref.make_graphed_callables(lambda x: x * 2, (sample,))
    bits = sample.view(torch.int32)
    bits.copy_(torch.tensor([7, 8, 9]))
    assert graphed(bits).tolist() == [14.0, 16.0, 18.0]


def test_argument_that_requires_grad_unlike_its_sample() -> None:
    module = nn.Linear(3, 3)
    ref.make_graphed_callables(module, (torch.ones(2, 3),))
    function = ref.make_graphed_callables(lambda x: x * 2, (torch.ones(2, 3),))
    x = torch.full((2, 3), 4.0, requires_grad=True)
    assert torch.equal(module(x), nn.functional.linear(x, module.weight, module.bias))
    assert function(x).tolist() == [[8.0] * 3] * 2
    # Its gradient was not captured, and must not be missing without a word.
    for graphed in (module, function):
        with pytest.raises(RuntimeError, match="argument 0 requires grad; its sample did not"):
            (graphed(x).sum() + x.sum()).backward()
    with torch.no_grad():
        assert not function(x).requires_grad


# -- refusals -------------------------------------------------------------------------------------------------------


def refuse(kind: type[Exception], words: str, callables: Any, sample_args: Any, **settings: Any) -> None:
    with pytest.raises(kind, match=words):
        ref.make_graphed_callables(callables, sample_args, **settings)
    assert not ref.is_current_stream_capturing()


def test_autocast_cache_is_refused() -> None:
    with torch.autocast("cpu"):
        refuse(RuntimeError, "cache_enabled=False", nn.Linear(5, 3), (torch.ones(2, 5),))


@pytest.mark.parametrize(
    "register",
    [
        "register_forward_pre_hook",
        "register_forward_hook",
        "register_full_backward_hook",
        "register_full_backward_pre_hook",
    ],
)
def test_hooks_are_refused_before_and_called_after(register: str) -> None:
    module, x = nn.Linear(5, 3), torch.ones(2, 5, requires_grad=True)
    calls = []
    handle = getattr(module, register)(lambda *_: calls.append(1))
    refuse(AssertionError, "has hooks", module, (x,))
    handle.remove()
    ref.make_graphed_callables(module, (x,))
    getattr(module, register)(lambda *_: calls.append(1))
    assert not calls
    module(x).sum().backward()
    assert calls == [1]


def test_trainable_buffers_are_refused() -> None:
    module = nn.Linear(5, 3)
    module.register_buffer("scale", torch.ones(3, requires_grad=True))
    refuse(AssertionError, "scale", module, (torch.ones(2, 5),))


@pytest.mark.parametrize("value", [2.0, None, "x"], ids=["number", "none", "text"])
def test_other_sample_arguments_are_refused(value: object) -> None:
    refuse(AssertionError, "only tensors", lambda x, _: x * 2, (torch.ones(3), value))


def test_malformed_arguments_are_refused() -> None:
    x = torch.ones(3)
    refuse(TypeError, "tuple of arguments", lambda x: x * 2, x)
    refuse(TypeError, "tuple of such tuples", (lambda x: x * 2,), (x,))
    refuse(ValueError, "2 callables", (torch.sin, torch.cos), ((x,),))
    refuse(TypeError, "neither a function", [torch.sin], (x,))
    refuse(TypeError, "returned 'x'", lambda x: (x * 2, "x"), (x,))
    refuse(ValueError, "capture_error_mode", torch.sin, (x,), capture_error_mode="sideways")


def test_keyword_arguments_are_refused() -> None:
    graphed = ref.make_graphed_callables(lambda x: x * 2, (torch.ones(3),))
    with pytest.raises(TypeError, match="no keyword arguments"):
        graphed(x=torch.ones(3))


@pytest.mark.parametrize(
    ("args", "kind", "words"),
    [
        ((torch.ones(1),), ValueError, "shape"),
        ((torch.ones(3, dtype=torch.complex64),), ValueError, "dtype"),
        ((torch.ones(3, device="meta"),), ValueError, "device"),
        ((torch.ones(3), torch.ones(3)), TypeError, "nested"),
        (([torch.ones(3)],), TypeError, "nested"),
        ((2.0,), TypeError, "not a tensor"),
    ],
    ids=["shape", "dtype", "device", "count", "nesting", "number"],
)
def test_other_arguments_are_refused(args: tuple[Any, ...], kind: type[Exception], words: str) -> None:
    graphed = ref.make_graphed_callables(lambda x: x * 2, (torch.ones(3),))
    with pytest.raises(kind, match=words):
        graphed(*args)
    assert graphed(torch.full((3,), 4.0)).tolist() == [8.0] * 3


def test_double_backward_is_refused() -> None:
    x = torch.ones(3, requires_grad=True)
    graphed = ref.make_graphed_callables(lambda x: x.pow(3), (x,))
    (gradient,) = torch.autograd.grad(graphed(x).square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


def test_backward_of_a_call_that_is_over_is_refused() -> None:
    x = torch.ones(3, requires_grad=True)
    graphed = ref.make_graphed_callables(lambda x: x.pow(3), (x,))
    loss = graphed(x).sum()
    graphed(x)
    with pytest.raises(RuntimeError, match="differentiate each call once"):
        loss.backward()
    loss = graphed(x).sum()
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="differentiate each call once"):
        loss.backward()


def test_failing_callable_leaves_everything_usable() -> None:
    module = nn.Linear(5, 3)

    def reads_on_the_host(x: torch.Tensor) -> torch.Tensor:
        return module(x) * x.sum().item()

    refuse(RuntimeError, "capture", reads_on_the_host, (torch.ones(2, 5),))
    ref.make_graphed_callables(module, (torch.ones(2, 5),))
    assert torch.equal(module(torch.ones(2, 5)), nn.functional.linear(torch.ones(2, 5), module.weight, module.bias))
