"""What two machines answered to one program, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from typing import TypeAlias

from .step import Program

Log: TypeAlias = Sequence[tuple[int, str]]


def difference(program: Program, cuda: Log, model: Log) -> str | None:
    """The first answer that differs, below the program that leads there; None where all are equal."""
    for at, (theirs, ours) in enumerate(zip_longest(cuda, model, fillvalue=(-1, "nothing"))):
        if theirs != ours:
            return _report(program, cuda[:at], theirs, ours)
    return None


def _report(program: Program, before: Log, theirs: tuple[int, str], ours: tuple[int, str]) -> str:
    number = max(theirs[0], ours[0])
    steps = [f"    {place:3} {each!r}," for place, each in enumerate(program)]
    where = f"step {number}" if number < len(program) else "the look at what is left after the program"
    return "\n".join(
        [
            f"the model answers differently from CUDA in {where}",
            f"    CUDA:  {theirs[1]}",
            f"    model: {ours[1]}",
            "the program:",
            *steps,
            "all that both answered before:",
            *(f"    {step:3} {text}" for step, text in before),
        ]
    )


def shortened(program: Program, differs: Callable[[Program], bool]) -> Program:
    """The program without the steps that the difference does not need."""
    size = len(program) // 2
    while size:
        at, before = 0, program
        while at < len(program):
            shorter = program[:at] + program[at + size :]
            if shorter and differs(shorter):
                program = shorter
            else:
                at += size
        if program == before:
            size //= 2
    return program


def table(logs: Iterable[Log]) -> dict[str, dict[str, int]]:
    """How often each call was answered with each code."""
    counts: dict[str, dict[str, int]] = {}
    for log in logs:
        for _, text in log:
            name, _, rest = text.partition(": ")
            if name.startswith("cuda"):
                codes = counts.setdefault(name, {})
                code = rest.split(" ", 1)[0]
                codes[code] = codes.get(code, 0) + 1
    return counts
