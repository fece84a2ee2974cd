"""What is decided while specialising, and what is being written."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from conformance.reproducing.values import Again, Function, Unwritable, Value

NORMAL, ENDED = object(), object()

#: Names that mean something in every script.
RESERVED = {
    *("Graph", "reproduce", "torch", "runtime", "contextlib", "warnings", "gc", "Path", "tempfile", "nn", "copy")
}

Status = Any


@dataclasses.dataclass
class Decisions:
    """What turned out while specialising.

    Attributes:
        pinned: variables of the script's own, for it alone knows what they are.
        real: classes that are written out.
        called: functions that are written once and called.
        unrolled: loops whose turns are written one after the other.
        recursive: functions that refer to themselves, which are written where they are defined.
        shared: functions that are one object in several places, which have a name in the script.
    """

    pinned: set[Any] = dataclasses.field(default_factory=set)
    real: set[Any] = dataclasses.field(default_factory=set)
    called: set[Any] = dataclasses.field(default_factory=set)
    unrolled: set[Any] = dataclasses.field(default_factory=set)
    recursive: set[Any] = dataclasses.field(default_factory=set)
    shared: set[Any] = dataclasses.field(default_factory=set)

    def add(self, again: Again) -> None:
        """Take up what was found out."""
        chosen = getattr(self, again.kind)
        if again.key in chosen:
            raise Unwritable(f"{again.kind}: {again.key}")
        chosen.add(again.key)


@dataclasses.dataclass
class Frame:
    """A function of the script.

    Attributes:
        number: tells it from others.
        level: blocks that were open where it begins.
        foreign: variables of the functions around it that it assigns.
    """

    number: int
    level: int
    foreign: dict[str, None] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Call:
    """A call that is being specialised.

    Attributes:
        function: that is called.
        inline: whether it is written where it is called.
        owned: variables of the script that it made.
        around: what is written in the place of a ``yield``.
        wanted: whether anybody looks at what it returns.
        loops: how many loops of its own are open.
    """

    function: Function | None
    inline: bool
    owned: dict[str, None] = dataclasses.field(default_factory=dict)
    around: Callable[[Value], Status] | None = None
    yielded: Status = None
    wanted: bool = True


@dataclasses.dataclass(frozen=True)
class Lifted:
    """A function that the script has as a value.

    Attributes:
        function: itself.
        name: of it in the script; empty of one that has none.
        mark: how much had been set when it was written.
    """

    function: Function
    name: str
    mark: int
