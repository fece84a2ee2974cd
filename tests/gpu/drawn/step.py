"""A step of a drawn program: a name and small numbers, so that it prints, shrinks and travels between processes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from .player import Player


@dataclass(frozen=True)
class Step:
    """One step.

    Attributes:
        name: of the function in a module `steps_*` that does it.
        arguments: its keyword arguments.
    """

    name: str
    arguments: tuple[tuple[str, Any], ...]

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{name}={value!r}' for name, value in self.arguments)})"

    def play(self, player: Player) -> None:
        """Do it."""
        _ACTIONS[self.name](player, **dict(self.arguments))


Program: TypeAlias = tuple[Step, ...]

_ACTIONS: dict[str, Callable[..., None]] = {}

#: The parameters of each step, by its name.
PARAMETERS: dict[str, tuple[str, ...]] = {}


def step(action: Callable[..., None]) -> Callable[..., Step]:
    """Note what a step does; the function's name then makes such a step, so that a printed program is Python."""
    name = action.__name__
    _ACTIONS[name] = action
    PARAMETERS[name] = tuple(inspect.signature(action).parameters)[1:]

    def make(**arguments: Any) -> Step:
        return Step(name, tuple((each, arguments[each]) for each in PARAMETERS[name]))

    return make
