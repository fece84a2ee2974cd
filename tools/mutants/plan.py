"""A plan: the mutants, with all that is needed to make them again from the sources they were made of."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


class PlanError(Exception):
    """What is wrong with a plan, the sources it was made of, or a file of results."""


@dataclass(frozen=True)
class Mutant:
    """One small change.

    Attributes:
        module: file of the changed module, from the root of the checkout on.
        function: qualified name of the function that does other work; the class or ``<module>`` where none does.
        line: where the change stands.
        operator: what kind of change it is.
        first, last: lines of the statement, or the head of a compound one, that the change is in.
        start, end: lines that are replaced, the last one included, from 1 on.
        lines: what stands there instead.
        diff: what is removed and added, without line numbers.
        number: among those of the same function with the same diff, from 1 on.
        runnable: whether it lies in a function.
    """

    module: str
    function: str
    line: int
    operator: str
    first: int
    last: int
    start: int
    end: int
    lines: tuple[str, ...]
    diff: str
    number: int
    runnable: bool

    @property
    def id(self) -> str:
        """The same in every plan, as long as the changed lines are the same."""
        text = "\0".join([self.module, self.function, self.diff, str(self.number)])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def source(self, original: str) -> str:
        """The mutated source; every line outside of the change keeps its number."""
        lines = original.split("\n")
        return "\n".join([*lines[: self.start - 1], *self.lines, *lines[self.end :]])

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Mutant:
        return cls(**{**values, "lines": tuple(values["lines"])})


@dataclass(frozen=True)
class Plan:
    """Mutants, and the SHA-256 of each module's source by file."""

    sources: Mapping[str, str]
    mutants: tuple[Mutant, ...]

    def write(self, file: Path) -> None:
        content = {"sources": dict(self.sources), "mutants": [asdict(mutant) for mutant in self.mutants]}
        file.write_text(json.dumps(content, indent=0) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, file: Path) -> Plan:
        content = json.loads(file.read_text(encoding="utf-8"))
        return cls(content["sources"], tuple(map(Mutant.from_dict, content["mutants"])))

    def of(self, modules: Collection[str]) -> Plan:
        """The plan for some of its modules."""
        sources = {module: source for module, source in self.sources.items() if module in modules}
        return Plan(sources, tuple(mutant for mutant in self.mutants if mutant.module in sources))

    def part(self, number: int, of: int) -> list[Mutant]:
        """The runnable mutants of one of several parts, which all take about the same time."""
        ordered = sorted((mutant for mutant in self.mutants if mutant.runnable), key=lambda mutant: mutant.id)
        return ordered[number - 1 :: of]

    def originals(self, root: Path, modules: Iterable[str]) -> dict[str, str]:
        """The sources that the mutants of `modules` change.

        Raises:
            PlanError: one is not what it was when the plan was made.
        """
        sources = {}
        for module in modules:
            source = (root / module).read_text(encoding="utf-8")
            if digest(source) != self.sources[module]:
                raise PlanError(f"{module} has changed since the plan was made: plan it again")
            sources[module] = source
        return sources

    def totals(self) -> dict[str, dict[str, int]]:
        """For each module, how many mutants there are, and how many of them can be run."""
        counted = {module: {"mutants": 0, "runnable": 0} for module in self.sources}
        for mutant in self.mutants:
            counted[mutant.module]["mutants"] += 1
            counted[mutant.module]["runnable"] += mutant.runnable
        return counted


def digest(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()


def reference_modules(root: Path = ROOT) -> list[str]:
    """The files of the reference that the suites are to hold to account, and no GPU is needed for."""
    package = root / "reference_impl"
    rooms = [package, *(package / room for room in ("graphs", "runtime", "devices", "devices/software", "allocator"))]
    files = [file.relative_to(root).as_posix() for room in rooms for file in room.glob("*.py")]
    # Entry points, the boundary's declaration, and what drives a GPU.
    without = ("/__init__.py", "/devices/cuda.py", "/devices/protocol.py")
    return sorted(file for file in files if not file.endswith(without))


def check_part(text: str) -> tuple[int, int]:
    """``I/N`` as two numbers."""
    number, _, of = text.partition("/")
    if not (number.isdigit() and of.isdigit() and 1 <= int(number) <= int(of)):
        raise PlanError(f"--part={text}: write I/N, with I from 1 to N")
    return int(number), int(of)


def chosen(mutants: Iterable[Mutant], only: Collection[str] | None, without: Collection[str]) -> list[Mutant]:
    """Those whose ids stand in `only`, unless that is ``None``, and not in `without`."""
    return [mutant for mutant in mutants if (only is None or mutant.id in only) and mutant.id not in without]
