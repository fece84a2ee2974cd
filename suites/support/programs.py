"""Programs whose replays can be checked."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from conformance.adapter import Adapter
from conformance.checks import expect_equal, expect_no_raise

#: Not round, so that a block of memory is never exactly filled.
SIZE = 37
#: What an output holds before a replay: no program computes it.
POISON = -99.0
#: How many operators a row has unless told otherwise.
OPERATORS = 4


class Affine:
    """``out = x * factor + 1`` over static tensors, in two halves so that something can happen between them."""

    def __init__(self, impl: Adapter, factor: float = 3.0) -> None:
        self.factor = factor
        self.x = impl.full(SIZE, 2.0)
        self.out = impl.full(SIZE, POISON)
        self._product: torch.Tensor | None = None

    def first_half(self) -> None:
        """Make the product, in the graph's pool."""
        self._product = self.x * self.factor

    def second_half(self) -> None:
        """Finish what `first_half` began."""
        assert self._product is not None, "the halves were called out of order"
        self.out.copy_(self._product + 1)
        self._product = None

    def body(self) -> None:
        """The whole program."""
        self.first_half()
        self.second_half()

    def check(self, impl: Adapter, graph: Any, promise: str) -> None:
        """Reject unless replays of `graph` compute the program, each time from new input into poisoned output."""
        for value in (5.0, -2.0, 11.0):
            self.x.fill_(value)
            self.out.fill_(POISON)
            expect_no_raise(promise, graph.replay)
            expect_equal(impl, self.out, value * self.factor + 1, promise)


class Counter:
    """A tensor in ordinary memory and a program that adds `step` to it, so that its values tell how often it ran."""

    def __init__(self, impl: Adapter, step: float = 1.0, shape: tuple[int, ...] = (3, 5)) -> None:
        self._impl = impl
        self._step = step
        # No two elements are equal, so an element that was skipped or written twice cannot hide.
        self._start = torch.arange(torch.Size(shape).numel(), dtype=torch.float32).reshape(shape) + 100
        self.tensor = impl.tensor(self._start)

    def body(self) -> None:
        """The program: one in-place addition."""
        self.tensor.add_(self._step)

    def expect_runs(self, runs: int, promise: str) -> None:
        """Reject unless the program ran `runs` times since the counter was made."""
        expect_equal(self._impl, self.tensor, self._start + runs * self._step, promise)


def chain(source: torch.Tensor, steps: int) -> torch.Tensor:
    """`source + steps`, one step at a time: each temporary dies when the one after the next is made."""
    value = source + 1
    for _ in range(steps - 1):
        value = value + 1
    return value


def ramp(shape: tuple[int, ...] | int, start: int = 0) -> torch.Tensor:
    """A CPU tensor of distinct small whole numbers."""
    size = torch.Size((shape,) if isinstance(shape, int) else shape)
    return torch.arange(start, start + size.numel(), dtype=torch.float32).reshape(size)


def row_of_operators(impl: Adapter, count: int = OPERATORS) -> Callable[[], None]:
    """A program of `count` operators on one stream."""
    return partial(_add, impl.full(SIZE, 1.0), count)


def fork(impl: Adapter) -> Callable[[], None]:
    """A program with one operator before a fork, one on either branch, and one after the join."""
    x, y = impl.full(SIZE, 1.0), impl.full((3, 5), 1.0)
    return _forking(impl, lambda: x.add_(1), lambda: x.mul_(2), lambda: y.mul_(3), lambda: y.add_(4))


def uneven_fork(impl: Adapter) -> Callable[[], None]:
    """A program whose graph looks like no other way round: one operator, branches of one and three, then six more."""
    x, y = impl.full(SIZE, 1.0), impl.full((3, 5), 1.0)
    return _forking(impl, partial(_add, x, 1), partial(_add, x, 1), partial(_add, y, 3), partial(_add, y, 6))


def _add(tensor: torch.Tensor, times: int) -> None:
    for _ in range(times):
        tensor.add_(1)


def _forking(
    impl: Adapter,
    before: Callable[[], object],
    here: Callable[[], object],
    there: Callable[[], object],
    after: Callable[[], object],
) -> Callable[[], None]:
    """A program that does `before`, then `there` on a side stream beside `here`, and `after` when both are done."""
    side = impl.new_stream()

    def body() -> None:
        before()
        stream = impl.current_stream()
        side.wait_stream(stream)
        here()
        with impl.stream(side):
            there()
        stream.wait_stream(side)
        after()

    return body


class OperatorCount(TorchDispatchMode):
    """A mode such as a program may enter: counts the operators that are called inside.

    Attributes:
        names: of the operators, such as ``aten::add_``, in the order of the calls.
    """

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Guarding the mode against the compiler would import the compiler, which takes seconds.
        return False

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.names: list[str] = []

    @property
    def operators(self) -> int:
        """How many were called."""
        return len(self.names)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(func.name().partition(".")[0])
        return func(*args, **(kwargs or {}))
