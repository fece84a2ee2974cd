"""Real programs on the software device: three replays with new inputs give eager's bits."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

import reference_impl as ref

from .programs import PROGRAMS, Program

SEEDS = (3, 14, 15)


def snapshot(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    return [tensor.detach().clone() for tensor in tensors]


def eager(build: Callable[[], Program]) -> tuple[list[list[torch.Tensor]], list[tuple[int, ...]]]:
    """Results of every step, and the strides of the last one."""
    torch.manual_seed(0)
    program = build()
    torch.manual_seed(1)
    results, strides = [], []
    for seed in SEEDS:
        program.refill(seed)
        outputs = program.step()
        results.append(snapshot((*outputs, *program.state)))
        strides = [tensor.stride() for tensor in outputs]
    return results, strides


def replayed(
    build: Callable[[], Program], inside: Any = None
) -> tuple[list[list[torch.Tensor]], list[tuple[int, ...]]]:
    """The same through a graph; `inside` is entered within the capture."""
    torch.manual_seed(0)
    program = build()
    torch.manual_seed(1)
    graph = ref.CUDAGraph()
    with ref.graph(graph), inside or contextlib.nullcontext():
        outputs = program.step()
    results = []
    for seed in SEEDS:
        program.refill(seed)
        graph.replay()
        results.append(snapshot((*outputs, *program.state)))
    return results, [tensor.stride() for tensor in outputs]


def assert_same(actual: list[list[torch.Tensor]], expected: list[list[torch.Tensor]]) -> None:
    for step, (actual_step, expected_step) in enumerate(zip(actual, expected, strict=True)):
        for number, (a, b) in enumerate(zip(actual_step, expected_step, strict=True)):
            where = f"step {step}, tensor {number}"
            assert a.dtype == b.dtype, where
            assert torch.equal(a, b), f"{where}: {a} is not {b}"


@pytest.mark.parametrize("name", PROGRAMS)
def test_replay_equals_eager(name: str) -> None:
    expected, strides = eager(PROGRAMS[name])
    actual, actual_strides = replayed(PROGRAMS[name])
    assert_same(actual, expected)
    assert actual_strides == strides


class TensorTracker(TorchDispatchMode):
    """Counts what it sees."""

    def __init__(self) -> None:
        super().__init__()
        self.operators: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.operators.append(func.name())
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("where", ["before", "inside"])
def test_another_dispatch_mode_sees_the_capture_and_changes_nothing(name: str, where: str) -> None:
    expected, _ = eager(PROGRAMS[name])
    tracker = TensorTracker()

    @contextlib.contextmanager
    def modes() -> Iterator[None]:
        with FlopCounterMode(display=False), tracker:
            yield

    if where == "inside":
        actual, _ = replayed(PROGRAMS[name], modes())
    else:
        with modes():
            actual, _ = replayed(PROGRAMS[name])
    assert_same(actual, expected)
    assert tracker.operators


def test_a_number_for_what_a_mask_picks_is_a_fill() -> None:
    """As on CUDA, ``x[mask] = number`` counts nothing; other values have to be counted, which a capture cannot."""
    x = ref.tensor(torch.arange(6.0))
    graph = ref.CUDAGraph()
    with ref.graph(graph):
        x[x > 3.0] = -1.0
    for values in (torch.arange(6.0), 6.0 - torch.arange(6.0)):
        x.copy_(values)
        graph.replay()
        ref.synchronize()
        assert torch.equal(x, values.masked_fill(values > 3.0, -1.0))
    with pytest.raises(RuntimeError), ref.graph(ref.CUDAGraph()):
        x[x > 3.0] = torch.ones(2)
