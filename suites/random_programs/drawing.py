"""Programs drawn by hypothesis.

Each call is tried on host tensors as it is drawn, and left out where torch refuses it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from hypothesis import strategies as st

from conformance.adapter import in_thread
from suites.random_programs.operators import BLEND
from suites.random_programs.program import (
    Argument,
    Call,
    Capture,
    Fork,
    Free,
    Gradient,
    Here,
    Input,
    Instruction,
    Name,
    Program,
)

DTYPES = (torch.float32, torch.float64, torch.int64, torch.bool, torch.bfloat16, torch.complex64)
SHAPES = ((3, 5), (5, 3), (5,), (37,))
EMPTY = (0, 5)
CPU = torch.device("cpu")

#: Operators that give the same bits on any path through a kernel: exact, or rounded as IEEE 754 says.
BINARY = ("add", "mul", "sub", "maximum", "minimum", "lt", "eq", "logical_xor")
UNARY = ("neg", "abs", "relu", "square", "clone", "logical_not")
#: Operators that not every device has for booleans.
NUMBERS_ONLY = ("neg", "abs", "relu", "square", "sub", ".neg_", ".clamp_", ".sub_", BLEND)
#: Operators that are exact on complex numbers too, and that every device has for them.
COMPLEX_TOO = (
    *("add", "sub", "eq", "neg", "clone", "cat", "stack", "full", "sum", "where", ".to"),
    *(".copy_", ".neg_", ".fill_", ".add_", ".sub_", ".masked_fill_"),
)
VIEWS = ("t", "narrow", "select", "unsqueeze", "expand", "flatten")
REDUCTIONS = ("sum", "amax", "cumsum")
IN_PLACE = ("add_", "mul_", "sub_", "copy_", "maximum_out", "neg_", "fill_", "clamp_", "masked_fill_")
KINDS = (
    "binary",
    "in-place",
    "view",
    "out",
    "unary",
    "scalar",
    "reduction",
    "factory",
    "where",
    "cast",
    "mm",
    "cat",
    "two",
    "spread",
    "list",
    "custom",
    "gradient",
)

NUMBER = st.integers(0, 7)
SMALL = st.sampled_from([2, 3, -1, 5])


class Drawing:
    """A program under construction, and host tensors that its calls have been tried on."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self.draw = draw
        self.tensors: dict[str, torch.Tensor] = {}
        self.count = 0
        #: Names that a call may read, and those among them that it may write.
        self.readable: Sequence[str] = ()
        self.writable: Sequence[str] = ()
        #: Whether the call belongs to a branch.
        self.forked = False

    def fresh(self) -> str:
        """A name that nothing has yet."""
        self.count += 1
        return f"t{self.count}"

    def pick(self, names: Sequence[str]) -> str:
        """One of `names`, the latest most easily."""
        back: int = self.draw(NUMBER)
        return names[-1 - back % len(names)]

    def call(self) -> Call | None:
        """One call that torch takes, or ``None``."""
        kind = self.draw(st.sampled_from(KINDS))
        drawn: Call | None = getattr(self, "_" + kind.replace("-", "_"))(self.pick(self.readable))
        if drawn is None:
            return None
        booleans = [
            self.tensors[entry.name].dtype is torch.bool for entry in drawn.arguments if isinstance(entry, Name)
        ]
        if drawn.function in NUMBERS_ONLY and any(booleans):
            return None
        if any(self._complex(entry) for entry in drawn.arguments) and not _exact_on_complex(drawn.function):
            return None
        try:
            # In a thread of its own: in this one the implementation may have a hand in what the host computes.
            in_thread(lambda: drawn.run(self.tensors, CPU))
        except (RuntimeError, IndexError, TypeError):
            for name in drawn.targets:
                self.tensors.pop(name, None)
            return None
        if any(self.tensors[name].dim() > 3 for name in drawn.targets):
            for name in drawn.targets:
                del self.tensors[name]
            return None
        return drawn

    def _complex(self, entry: Argument) -> bool:
        if isinstance(entry, tuple):
            return any(map(self._complex, entry))
        return isinstance(entry, Name) and self.tensors[entry.name].is_complex()

    def _new(self, function: str, *arguments: Argument, **settings: Argument) -> Call:
        return Call((self.fresh(),), function, arguments, tuple(settings.items()))

    def _binary(self, first: str) -> Call:
        return self._new(self.draw(st.sampled_from(BINARY)), Name(first), Name(self.pick(self.readable)))

    def _unary(self, first: str) -> Call:
        return self._new(self.draw(st.sampled_from(UNARY)), Name(first))

    def _scalar(self, first: str) -> Call:
        return self._new(self.draw(st.sampled_from(("add", "mul"))), Name(first), self.draw(SMALL))

    def _reduction(self, first: str) -> Call:
        return self._new(self.draw(st.sampled_from(REDUCTIONS)), Name(first), dim=0)

    def _where(self, first: str) -> Call | None:
        masks = [name for name in self.readable if self.tensors[name].dtype is torch.bool]
        if not masks:
            return None
        return self._new("where", Name(self.pick(masks)), Name(first), Name(self.pick(self.readable)))

    def _factory(self, _first: str) -> Call:
        shape = self.draw(st.sampled_from((*SHAPES, EMPTY)))
        dtype = self.draw(st.sampled_from(DTYPES))
        value = self.draw(SMALL)
        return self._new("full", shape, bool(value > 2) if dtype is torch.bool else value, dtype=dtype, device=Here())

    def _cast(self, first: str) -> Call | None:
        now, then = self.tensors[first].dtype, self.draw(st.sampled_from(DTYPES))
        # What a float out of an integer's range becomes is left open by every device.
        if now.is_floating_point and not (then.is_floating_point or then.is_complex or then is torch.bool):
            return None
        if now.is_complex and not then.is_complex:
            return None
        return self._new(".to", Name(first), then)

    def _mm(self, first: str) -> Call | None:
        tensor = self.tensors[first]
        if not tensor.is_floating_point() or tensor.dim() != 2:
            return None
        fit = [
            name
            for name in self.readable
            if self.tensors[name].dtype is tensor.dtype and self.tensors[name].shape == tensor.shape[::-1]
        ]
        if fit:
            return self._new("mm", Name(first), Name(self.pick(fit)))
        return self._new("einsum", "ij,kj->ik", Name(first), Name(first))

    def _cat(self, first: str) -> Call:
        return self._new("cat", (Name(first), Name(self.pick(self.readable))), dim=0)

    def _spread(self, first: str) -> Call | None:
        # Most easily what an earlier call has expanded.
        spread = [name for name in self.readable if 0 in self.tensors[name].stride()]
        if not spread:
            return self._new(".expand", Name(first), 2, *self.tensors[first].shape)
        return self._new(self.draw(st.sampled_from(("add", "eq", "sub"))), Name(self.pick(spread)), Name(first))

    def _list(self, first: str) -> Call | None:
        kind, target = self.draw(st.sampled_from(("stack", "made", "written"))), self._target()
        if kind == "stack":
            return self._new("stack", (Name(first), Name(first)), dim=0)
        if kind == "made":
            targets = (self.fresh(), self.fresh())
            return Call(targets, "_foreach_add", ((Name(first), Name(self.pick(self.readable))), self.draw(SMALL)))
        others = [name for name in self._apart(target) if name in self.writable] if target is not None else []
        solid = [name for name in others if 0 not in self.tensors[name].stride()]
        if target is None or not solid:
            return None
        return Call((), "_foreach_add_", ((Name(target), Name(self.pick(solid))), self.draw(SMALL)))

    def _custom(self, first: str) -> Call:
        return self._new(BLEND, Name(first), Name(self.pick(self.readable)))

    def _gradient(self, first: str) -> Call | None:
        if not self.tensors[first].is_floating_point() or self.forked:
            return None
        return Gradient((self.fresh(),), "gradient", (Name(first),))

    def _two(self, first: str) -> Call:
        return Call((self.fresh(), self.fresh()), "aminmax", (Name(first),), (("dim", 0),))

    def _view(self, first: str) -> Call:
        kind, tensor = self.draw(st.sampled_from(VIEWS)), self.tensors[first]
        arguments: dict[str, tuple[Argument, ...]] = {
            "narrow": (0, 1, max(1, tensor.shape[0] - 2) if tensor.dim() else 1),
            "select": (-1, 1),
            "unsqueeze": (0,),
            "expand": (2, *tensor.shape),
        }
        return self._new("." + kind, Name(first), *arguments.get(kind, ()))

    def _apart(self, target: str) -> list[str]:
        """The readable tensors that share no memory with `target`."""
        where = _storage(self.tensors[target])
        return [name for name in self.readable if _storage(self.tensors[name]) != where]

    def _target(self) -> str | None:
        solid = [name for name in self.writable if 0 not in self.tensors[name].stride()]
        return self.pick(solid) if solid else None

    def _in_place(self, _first: str) -> Call | None:
        target = self._target()
        others = self._apart(target) if target is not None else []
        if target is None or not others:
            return None
        kind, number = self.draw(st.sampled_from(IN_PLACE)), self.draw(SMALL)
        other = self.pick(others)
        if _narrows(self.tensors[other], self.tensors[target]):
            kind = "neg_"
        if kind == "masked_fill_" and self.tensors[other].dtype is not torch.bool:
            kind = "fill_"
        if kind == "maximum_out":
            return Call((), "maximum", (Name(target), Name(other)), (("out", Name(target)),))
        arguments: dict[str, tuple[Argument, ...]] = {
            "neg_": (),
            "fill_": (number > 2 if self.tensors[target].dtype is torch.bool else number,),
            "clamp_": (-3, 4),
            "masked_fill_": (Name(other), number),
        }
        return Call((), "." + kind, (Name(target), *arguments.get(kind, (Name(other),))))

    def _out(self, _first: str) -> Call | None:
        target = self._target()
        others = self._apart(target) if target is not None else []
        fit = [name for name in others if target and self.tensors[name].shape == self.tensors[target].shape]
        if target is None or not fit:
            return None
        first, second = self.pick(fit), self.pick(fit)
        if any(_narrows(self.tensors[name], self.tensors[target]) for name in (first, second)):
            return None
        function = self.draw(st.sampled_from(("add", "mul", "sub", "maximum")))
        return Call((), function, (Name(first), Name(second)), (("out", Name(target)),))

    # -- bodies -------------------------------------------------------------------------------------------------------

    def body(self, shortest: int, longest: int, *, forks: bool) -> tuple[Instruction, ...]:
        """Instructions of one capture."""
        items: list[Instruction] = []
        own: list[str] = []
        for _ in range(self.draw(st.integers(shortest, longest))):
            self.readable = self.writable = [*self.tensors]
            what = self.draw(NUMBER)
            if what == 7 and own:
                name = own.pop(self.draw(NUMBER) % len(own))
                del self.tensors[name]
                items.append(Free(name))
            elif what >= 5 and forks:
                items.append(self._fork())
            elif what == 6 and items and isinstance(items[-1], Call) and not items[-1].targets:
                # The same work on the same memory, twice in a row.
                in_thread(functools.partial(items[-1].run, self.tensors, CPU))
                items.append(items[-1])
            else:
                drawn = self.call()
                if drawn is not None:
                    items.append(drawn)
                    own += drawn.targets
        return tuple(items)

    def _fork(self) -> Fork:
        known = [*self.tensors]
        storages = list(dict.fromkeys(_storage(self.tensors[name]) for name in known))
        # A branch writes only memory that no other branch touches.
        owner = {storage: self.draw(st.integers(0, 2)) for storage in storages}
        branches: list[tuple[Call, ...]] = []
        self.forked = True
        for number in (0, 1):
            mine = [name for name in known if owner[_storage(self.tensors[name])] == number]
            shared = [name for name in known if owner[_storage(self.tensors[name])] == 2]
            calls: list[Call] = []
            for _ in range(self.draw(st.integers(1, 3))):
                self.readable, self.writable = [*shared, *mine], mine
                if not self.readable:
                    break
                drawn = self.call()
                if drawn is not None:
                    calls.append(drawn)
                    # A view of shared memory may be read, and not written.
                    for name in drawn.targets:
                        (shared if owner.get(_storage(self.tensors[name]), number) == 2 else mine).append(name)
            branches.append(tuple(calls))
        self.forked = False
        return Fork(tuple(branches), self.draw(st.booleans()))


@st.composite
def programs(
    draw: Any,
    *,
    captures: int = 1,
    shortest: int = 1,
    longest: int = 10,
    forks: bool = False,
    pools: bool = False,
) -> Program:
    """A program of up to `captures` captures, each of `shortest` to `longest` instructions."""
    drawing = Drawing(draw)
    inputs = tuple(
        Input(
            f"x{number}",
            draw(st.sampled_from(DTYPES)),
            shape := draw(st.sampled_from(SHAPES)),
            transposed=draw(st.booleans()) and len(shape) > 1,
            seed=draw(NUMBER),
        )
        for number in range(draw(st.integers(1, 3)))
    )
    for entry in inputs:
        drawing.tensors[entry.name] = in_thread(functools.partial(entry.make, entry.seed, _on_host))
    bodies = []
    for _ in range(draw(st.integers(1, captures))):
        body = drawing.body(shortest, longest, forks=forks)
        bodies.append(Capture(body, draw(st.sampled_from([0, 1, None])) if pools else None))
    rounds = tuple(
        tuple((entry.name, draw(NUMBER)) for entry in inputs if draw(st.booleans()))
        for _ in range(draw(st.integers(3, 4)))
    )
    return Program(inputs, tuple(bodies), rounds)


def _on_host(values: Any, dtype: torch.dtype) -> torch.Tensor:
    return torch.tensor(values, dtype=dtype)


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _narrows(source: torch.Tensor, target: torch.Tensor) -> bool:
    if source.is_complex():
        return not target.is_complex()
    return source.is_floating_point() and not (target.is_floating_point() or target.is_complex())


def _exact_on_complex(function: str) -> bool:
    return function in COMPLEX_TOO or function.lstrip(".") in VIEWS
