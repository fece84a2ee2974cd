"""Real programs for the software device: each is built, and then stepped with new inputs again and again."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import torch
from torch import nn

import reference_impl as ref

Tensors = tuple[torch.Tensor, ...]


@dataclasses.dataclass
class Program:
    """A program with static inputs.

    Attributes:
        inputs: refilled in place before every step.
        step: does the work; returns the tensors to compare.
        state: tensors that live from step to step (parameters, running statistics) and are compared as well.
    """

    inputs: Tensors
    step: Callable[[], Tensors]
    state: Tensors = ()

    def refill(self, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        for tensor in self.inputs:
            if tensor.is_floating_point():
                tensor.copy_(torch.randn(tensor.shape, generator=generator))
            else:
                tensor.copy_(torch.randint(0, 7, tensor.shape, generator=generator))


def mlp_step(width: int = 13, batch: int = 5) -> Program:
    """Forward, backward and SGD with momentum, all in the graph."""
    model = nn.Sequential(nn.Linear(width, 17), nn.ReLU(), nn.Linear(17, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x, y = torch.zeros(batch, width), torch.zeros(batch, 3)

    def step() -> Tensors:
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return (loss.detach(), *(p.grad for p in model.parameters() if p.grad is not None))

    for parameter in model.parameters():  # momentum buffers exist before the capture
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    return Program((x, y), step, (*model.parameters(), *(s["momentum_buffer"] for s in optimizer.state.values())))


def transformer_block() -> Program:
    """Attention through scaled_dot_product_attention and dropout, forward and backward."""
    width, heads = 24, 3
    norm, project, out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
    feed = nn.Sequential(
        nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(), nn.Dropout(0.3), nn.Linear(2 * width, width)
    )
    x = torch.zeros(2, 7, width, requires_grad=True)

    def step() -> Tensors:
        q, k, v = project(norm(x)).view(2, 7, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
        attended = nn.functional.scaled_dot_product_attention(q, k, v, dropout_p=0.2, is_causal=True)
        y = x + nn.functional.dropout(out(attended.transpose(1, 2).reshape(2, 7, width)), 0.1)
        y = y + feed(y)
        x.grad = None
        y.square().mean().backward()
        assert x.grad is not None
        return y.detach(), x.grad

    return Program((x.detach(),), step)


def attention_without_dropout() -> Program:
    """The fused attention kernel, whose results are several tensors."""
    q, k, v = (torch.zeros(2, 3, 11, 8, requires_grad=True) for _ in range(3))

    def step() -> Tensors:
        y = nn.functional.scaled_dot_product_attention(q, k, v)
        return (y.detach(), *torch.autograd.grad(y.sin().sum(), (q, k, v)))

    return Program((q.detach(), k.detach(), v.detach()), step)


def convolution() -> Program:
    """Convolution and batch norm in training mode, channels-last as well, forward and backward."""
    model = nn.Sequential(
        nn.Conv2d(3, 5, 3, padding=1), nn.BatchNorm2d(5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(5, 4, 2)
    )
    model.train()
    x = torch.zeros(2, 3, 9, 7).to(memory_format=torch.channels_last)

    def step() -> Tensors:
        y = model(x)
        gradients = torch.autograd.grad(y.square().sum(), tuple(model.parameters()))
        return (y.detach(), *gradients)

    return Program((x,), step, tuple(model.buffers()))


def embedding() -> Program:
    """Embedding, gather, scatter and index_add, with indices that change."""
    table = nn.Embedding(7, 6)
    indices, values = torch.zeros(11, dtype=torch.int64), torch.zeros(11, 6)
    sums = torch.zeros(7, 6)

    def step() -> Tensors:
        rows = table(indices)
        (gradient,) = torch.autograd.grad((rows * values).sum(), table.weight)
        sums.index_add_(0, indices, values)
        picked = values.gather(1, indices[:, None] % 6)
        spread = torch.zeros(7, 6).scatter_add(0, indices[:, None].expand(11, 6), values)
        return rows.detach(), gradient, picked, spread

    return Program((indices, values), step, (sums,))


def foreach() -> Program:
    """Operators over lists of tensors, in place and not."""
    state = [torch.zeros(n) for n in (3, 8, 1)]
    x = [torch.zeros(n) for n in (3, 8, 1)]

    def step() -> Tensors:
        torch._foreach_mul_(state, 0.9)
        torch._foreach_add_(state, x, alpha=0.1)
        roots = torch._foreach_sqrt(torch._foreach_abs(state))
        return tuple(torch._foreach_addcdiv(roots, x, torch._foreach_add(roots, 1.0)))

    return Program(tuple(x), step, tuple(state))


def autocast() -> Program:
    """A region of mixed precision."""
    model = nn.Linear(9, 4)
    x = torch.zeros(6, 9)

    def step() -> Tensors:
        with torch.autocast("cpu", dtype=torch.bfloat16, cache_enabled=False):
            y = model(x) @ torch.ones(4, 2)
        return y, *torch.autograd.grad(y.float().sum(), tuple(model.parameters()))

    return Program((x,), lambda: tuple(t.detach() for t in step()))


@torch.library.custom_op("reference_tests::shifted_double", mutates_args=())
def shifted_double(x: torch.Tensor, shift: float) -> torch.Tensor:
    return x * 2 + shift


@shifted_double.register_fake
def _(x: torch.Tensor, shift: float) -> torch.Tensor:
    return torch.empty_like(x)


@torch.library.custom_op("reference_tests::accumulate", mutates_args={"total"})
def accumulate(total: torch.Tensor, x: torch.Tensor) -> torch.Tensor:  # no fake kernel: described by a trial
    total += x
    return total.sum(0) + x[0]


#: What the operator without tensors works on.
_STATE: dict[str, torch.Tensor] = {}


@torch.library.custom_op("reference_tests::add_to_state", mutates_args=())
def add_to_state(number: float) -> None:
    """Takes and gives no tensor, and yet is work for the device."""
    _STATE["total"] += number


def custom_operator() -> Program:
    """Custom operators, with and without a fake kernel, one of them writing to its argument and one without any."""
    x, total = torch.zeros(4, 5), torch.zeros(4, 5)

    def step() -> Tensors:
        _STATE["total"] = total
        results = shifted_double(x, 0.25), accumulate(total, x)
        add_to_state(0.5)
        return results

    return Program((x,), step, (total,))


def fork_and_join() -> Program:
    """Two streams: the side stream's branch is forked from the current stream and joined again."""
    x, weight = torch.zeros(5, 5), torch.randn(5, 5)
    side = ref.Stream()

    def step() -> Tensors:
        main = ref.current_stream()
        a = x + 1
        side.wait_stream(main)
        with ref.stream(side):
            b = a @ weight
            c = b.cos()
        d = a.sin() * 3
        main.wait_stream(side)
        return b, c, c + d

    return Program((x,), step)


PROGRAMS: dict[str, Callable[[], Program]] = {
    function.__name__: function
    for function in (
        mlp_step,
        transformer_block,
        attention_without_dropout,
        convolution,
        embedding,
        foreach,
        autocast,
        custom_operator,
        fork_and_join,
    )
}
