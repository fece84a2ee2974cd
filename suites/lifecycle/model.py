"""What the documents say that graphs hold, after any calls: a model in plain Python."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

#: Elements of every tensor.  Not round, so that a kernel that handles only whole blocks shows.
SHAPE = (3, 5)
COUNT = 15

#: A tensor's elements in the model: Python's numbers, because an implementation may have a hand in what torch computes.
Values = list[int]


def wrapped(values: Values) -> Values:
    """The values as 64-bit integers hold them."""
    return [(value + (1 << 63)) % (1 << 64) - (1 << 63) for value in values]


def rows(values: Values) -> list[list[int]]:
    """The values as nested lists."""
    width = SHAPE[1]
    return [values[start : start + width] for start in range(0, COUNT, width)]


class State(enum.Enum):
    """What a graph holds."""

    EMPTY = "holds nothing"
    CAPTURING = "is capturing"
    TEMPLATE = "holds a template"
    KEPT = "holds a template and an executable"
    READY = "holds an executable"

    @property
    def has_template(self) -> bool:
        """Whether the template can be reached between calls."""
        return self in (State.TEMPLATE, State.KEPT)

    @property
    def has_executable(self) -> bool:
        """Whether there is an executable."""
        return self in (State.KEPT, State.READY)


@dataclass(frozen=True)
class Work:
    """One captured operator over named tensors.

    Attributes:
        kind: ``add_``, ``mul_``, ``copy_`` or ``affine`` (a new tensor, through one that is freed at once).
        target: the tensor that is written.
        source: the tensor that is read.
        number: the operator's constant.
    """

    kind: str
    target: str
    source: str
    number: int

    def text(self) -> str:
        """The operator in plain torch."""
        if self.kind == "affine":
            return f"{self.target} = {self.source} * {self.number} + 1"
        argument = self.source if self.kind == "copy_" else str(self.number)
        return f"{self.target}.{self.kind}({argument})"

    def apply(self, values: dict[str, Values | None]) -> None:
        """Do it to the model's values; what depends on an unknown value is unknown."""
        before = values.get(self.source)
        if before is None:
            values[self.target] = None
        elif self.kind == "affine":
            values[self.target] = wrapped([value * self.number + 1 for value in before])
        elif self.kind == "copy_":
            values[self.target] = list(before)
        else:
            added = self.kind == "add_"
            values[self.target] = wrapped([value + self.number if added else value * self.number for value in before])


@dataclass
class Pool:
    """Memory that captures share.  `captures` counts those that went into it so far."""

    captures: int = 0


@dataclass
class Output:
    """A tensor that a capture made.

    Attributes:
        pool: where its memory is.
        place: of its capture among those of the pool: an earlier one may have freed memory that this tensor now has.
        pinned: whether another graph reads it, so that it must stay.
    """

    pool: Pool
    place: int
    pinned: bool = False


@dataclass
class Graph:
    """One graph.

    Attributes:
        name: in scripts.
        keep: the argument of the constructor.
        made_with_pool: whether the constructor was given a pool, too.
        state: what it holds.
        work: what it captured.
        pool: the memory of its capture, and `place` its turn there.
        template: the template's handle as first read, in this capture.
        executable: the executable's handle as first read, since the last instantiation.
    """

    name: str
    keep: bool | None
    made_with_pool: bool = False
    state: State = State.EMPTY
    work: list[Work] = field(default_factory=list)
    pool: Pool | None = None
    place: int = 0
    template: int | None = None
    executable: int | None = None

    def captured(self) -> None:
        """The capture has ended well."""
        self.state = State.TEMPLATE if self.keep else State.READY

    def instantiated(self) -> None:
        """There is a new executable."""
        self.state = State.KEPT if self.keep else State.READY
        self.executable = None

    def emptied(self) -> None:
        """The graph holds nothing any more."""
        self.state, self.work, self.pool = State.EMPTY, [], None
        self.template = self.executable = None
