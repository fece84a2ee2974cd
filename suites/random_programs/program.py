"""Tensor programs as data: run eagerly, run inside captures, or written out."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch

Tensors = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Name:
    """A tensor by its name."""

    name: str


@dataclass(frozen=True)
class Here:
    """The device under test."""


Argument: TypeAlias = Name | Here | int | float | bool | str | torch.dtype | tuple["Argument", ...] | None


@dataclass(frozen=True)
class Call:
    """``targets = function(*arguments, **settings)``.

    A function that begins with a dot is a method of its first argument.

    In-place calls have no targets.
    """

    targets: tuple[str, ...]
    function: str
    arguments: tuple[Argument, ...]
    settings: tuple[tuple[str, Argument], ...] = ()

    def text(self) -> str:
        """The call in Python."""
        first = 0
        head = f"torch.{self.function}"
        if self.function.startswith("."):
            first, head = 1, _text(self.arguments[0]) + self.function
        written = [*map(_text, self.arguments[first:]), *(f"{name}={_text(value)}" for name, value in self.settings)]
        called = f"{head}({', '.join(written)})"
        return f"{', '.join(self.targets)} = {called}" if self.targets else called

    def run(self, tensors: Tensors, device: torch.device) -> None:
        """Make the call; its results go to `tensors`."""
        first, *rest = (_value(argument, tensors, device) for argument in self.arguments)
        settings = {name: _value(value, tensors, device) for name, value in self.settings}
        if self.function.startswith("."):
            result = getattr(first, self.function[1:])(*rest, **settings)
        else:
            result = operator.attrgetter(self.function)(torch)(first, *rest, **settings)
        if len(self.targets) == 1:
            tensors[self.targets[0]] = result
        elif self.targets:
            tensors.update(zip(self.targets, result, strict=True))


class Gradient(Call):
    """``target = d(sum of squares of argument) / d(argument)``, by a backward pass."""

    def text(self) -> str:
        """The same in Python."""
        source = _text(self.arguments[0])
        return (
            f"leaf = {source}.detach().requires_grad_()\n"
            f"{self.targets[0]}, = torch.autograd.grad((leaf * leaf).sum(), leaf)\n"
            "del leaf"
        )

    def run(self, tensors: Tensors, device: torch.device) -> None:
        """Compute it."""
        leaf = _value(self.arguments[0], tensors, device).detach().requires_grad_()
        (tensors[self.targets[0]],) = torch.autograd.grad((leaf * leaf).sum(), leaf)


@dataclass(frozen=True)
class Free:
    """Let go of a tensor, so that its memory may be used again."""

    name: str


@dataclass(frozen=True)
class Fork:
    """Branches on streams of their own, which begin after what precedes and end before what follows.

    Attributes:
        branches: the work of each.
        by_event: whether one event orders all of them, recorded again each time, instead of ``wait_stream``.
    """

    branches: tuple[tuple[Call, ...], ...]
    by_event: bool = False


Instruction = Call | Free | Fork


@dataclass(frozen=True)
class Input:
    """A tensor in ordinary memory that programs read and write.

    Attributes:
        name: of the tensor.
        dtype: of its elements.
        shape: as programs see it.
        transposed: whether its memory runs the other way.
        seed: of its first contents.
    """

    name: str
    dtype: torch.dtype
    shape: tuple[int, ...]
    transposed: bool
    seed: int

    def numbers(self, seed: int) -> list[Any]:
        """Contents in the order of the memory: small whole numbers, so that arithmetic rounds rarely."""
        count = 1
        for size in self.shape:
            count *= size
        numbers = [((2 * (seed % 5) + 3) * place + seed) % 17 - 8 for place in range(count)]
        return [number % 2 == 0 for number in numbers] if self.dtype is torch.bool else numbers

    def make(self, seed: int, make: Callable[[Any, torch.dtype], torch.Tensor]) -> torch.Tensor:
        """The tensor with those contents, from `make`, which takes nested lists and a type."""
        tensor = make(self._nested(seed), self.dtype)
        return tensor.t() if self.transposed else tensor

    def text(self, seed: int) -> str:
        """The same in Python."""
        return f"impl.tensor({self._nested(seed)}, {self.dtype})" + (".t()" if self.transposed else "")

    def _nested(self, seed: int) -> list[Any]:
        numbers = self.numbers(seed)
        if len(self.shape) == 1:
            return numbers
        width = self.shape[0] if self.transposed else self.shape[1]
        return [numbers[start : start + width] for start in range(0, len(numbers), width)]


@dataclass(frozen=True)
class Capture:
    """What one graph captures, and which of the pools it uses (``None``: one of its own)."""

    body: tuple[Instruction, ...]
    pool: int | None = None


@dataclass(frozen=True)
class Program:
    """Inputs, captures, and rounds of replays.

    Attributes:
        inputs: the tensors in ordinary memory.
        captures: in order.
        rounds: for each round, the inputs to refill before it, each with a seed.
    """

    inputs: tuple[Input, ...]
    captures: tuple[Capture, ...]
    rounds: tuple[tuple[tuple[str, int], ...], ...]

    @property
    def calls(self) -> Iterator[Call]:
        """All calls, those of branches among them."""
        for capture in self.captures:
            for item in capture.body:
                if isinstance(item, Fork):
                    for branch in item.branches:
                        yield from branch
                elif isinstance(item, Call):
                    yield item

    def input(self, name: str) -> Input:
        """The input of that name."""
        return next(entry for entry in self.inputs if entry.name == name)


def run_body(body: Sequence[Instruction], tensors: Tensors, device: torch.device) -> None:
    """Run instructions, the branches of a fork one after the other."""
    for item in body:
        if isinstance(item, Free):
            del tensors[item.name]
        elif isinstance(item, Call):
            item.run(tensors, device)
        else:
            for branch in item.branches:
                for call in branch:
                    call.run(tensors, device)


def _value(argument: Argument, tensors: Mapping[str, torch.Tensor], device: torch.device) -> Any:
    if isinstance(argument, Name):
        return tensors[argument.name]
    if isinstance(argument, Here):
        return device
    if isinstance(argument, tuple):
        return tuple(_value(entry, tensors, device) for entry in argument)
    return argument


def _text(argument: Argument) -> str:
    if isinstance(argument, Name):
        return argument.name
    if isinstance(argument, Here):
        return "impl.device"
    if isinstance(argument, tuple):
        return f"({', '.join(map(_text, argument))}{',' if len(argument) == 1 else ''})"
    return repr(argument)
