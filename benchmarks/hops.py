"""The ways through the reference in hops: its own Python calls, and how often they pass from one file to another.

    python benchmarks/hops.py [--trace]

Counts, on the software device, for an operator inside a capture, the end of that capture and a replay.  Calls of
functions that the reference defines are counted, each generator once; calls into torch and the standard library are
not, nor are comprehensions, which newer Pythons run in place.  `--trace` also prints the calls in their order.
"""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import pathlib
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

import reference_impl as ref

ROOT = pathlib.Path(ref.__file__).parent
IN_PLACE = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}


@dataclasses.dataclass(frozen=True)
class Hops:
    """The calls of one way.

    Attributes:
        calls: file, relative to the package, and function of each, in their order.
    """

    calls: tuple[tuple[str, str], ...]

    @property
    def files(self) -> int:
        """How many files the functions are in."""
        return len({file for file, _ in self.calls})

    @property
    def changes(self) -> int:
        """How many calls are in another file than the call before."""
        return sum(before != after for (before, _), (after, _) in itertools.pairwise(self.calls))


class Counter:
    """A profile function that notes the calls of functions in files below `root`, but for those that are `left_out`."""

    root = ROOT
    left_out = IN_PLACE

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self._generators: list[FrameType] = []

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        path = pathlib.Path(code.co_filename)
        if event != "call" or code.co_name in self.left_out or not path.is_relative_to(self.root):
            return
        if code.co_flags & inspect.CO_GENERATOR:
            if frame in self._generators:
                return
            self._generators.append(frame)
        self.calls.append((str(path.relative_to(self.root)), code.co_name))


def hops(way: Callable[[], object]) -> Hops:
    """Go `way` once, and count."""
    counter = Counter()
    sys.setprofile(counter)
    try:
        way()
    finally:
        sys.setprofile(None)
    return Hops(tuple(counter.calls))


def ways() -> dict[str, Hops]:
    """The ways of one graph.  Operators are counted after others of their kind, with all outputs kept."""
    x = torch.ones(8)
    outputs: list[torch.Tensor] = []

    def add() -> None:
        outputs.append(x + 1)

    def add_in_place() -> None:
        x.add_(1)

    graph = ref.CUDAGraph()
    counts = {}
    with ref.stream(ref.Stream()):
        graph.capture_begin()
        for _ in range(3):
            add()
            add_in_place()
        counts["x + 1 in a capture"] = hops(add)
        counts["x.add_(1) in a capture"] = hops(add_in_place)
        counts["capture_end() of 8 nodes"] = hops(graph.capture_end)
        graph.replay()
        counts["replay() of 8 nodes"] = hops(graph.replay)
    return counts


def main() -> None:
    for name, way in ways().items():
        print(f"{name:26} {len(way.calls):4} calls, {way.files:3} files, {way.changes:4} changes of file")
        if "--trace" in sys.argv[1:]:
            print("".join(f"    {file:40} {function}\n" for file, function in way.calls))


if __name__ == "__main__":
    main()
