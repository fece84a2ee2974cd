"""What the benchmarks of the reference share: a clock that other work on the machine does not move, and programs."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable

import torch
from torch import nn


def seconds(call: Callable[[], object], times: int = 1) -> float:
    """Processor time of this thread for one call, with the garbage collector off, as `timeit` has it."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        start = time.thread_time()
        for _ in range(times):
            call()
        return (time.thread_time() - start) / times
    finally:
        if collecting:
            gc.enable()


def medians(
    *calls: Callable[[], object],
    rounds: int,
    times: int = 1,
    measure: Callable[[Callable[[], object], int], float] = seconds,
) -> list[float]:
    """The median of what `measure` gives for each call, in alternating rounds: a drift of the machine meets all alike.

    Args:
        calls: what is measured.
        rounds: how often each is.
        times: that a call is made in one measurement.
        measure: takes a call and `times`.
    """
    measured = [[measure(call, times) for call in calls] for _ in range(rounds)]
    return [statistics.median(each) for each in zip(*measured, strict=True)]


def training_step(size: int) -> Callable[[], None]:
    """A step of an MLP of two layers: forward, backward, SGD with momentum; all tensors are `size` by `size`."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(size, size), nn.ReLU(), nn.Linear(size, size))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    x, y = torch.randn(size, size), torch.randn(size, size)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()

    for _ in range(3):
        step()
    return step


def chain(operator: Callable[[torch.Tensor], torch.Tensor], length: int = 1_000) -> Callable[[], None]:
    """`length` times `operator` on 8 elements, each on the result of the one before."""
    start = torch.zeros(8)

    def run() -> None:
        x = start
        for _ in range(length):
            x = operator(x)

    return run
