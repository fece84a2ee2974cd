"""Which tests run which lines of the mutated modules, learnt in one pass in which nothing is changed."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any
from zlib import crc32

from conformance.records.result import TestResult
from conformance.records.verdicts import Verdict
from conformance.selfcheck.outcomes import Observed
from conformance.selfcheck.running import Job, run
from conformance.session.cases import Case
from tools.mutants.plan import PlanError

#: A test of an implementation, as the record calls it.
Test = tuple[str, str]

#: Seconds for one traced test.
_LIMIT_S = 120.0


@dataclass
class Reach:
    """What was learnt.

    Attributes:
        lines: for each test and file, the lines that it runs, as the bits of a number.
        seconds: how long each test took.
        unusable: tests that do not pass although nothing is changed, and why.
    """

    lines: dict[Test, dict[str, int]] = field(default_factory=dict)
    seconds: dict[Test, float] = field(default_factory=dict)
    unusable: dict[Test, str] = field(default_factory=dict)
    _sorted: dict[tuple[str, str], list[tuple[str, int]]] = field(default_factory=dict)

    def tests(self, implementation: str, file: str, first: int, last: int) -> list[str]:
        """The tests of an implementation that run one of some lines of `file`, quick ones first."""
        if (implementation, file) not in self._sorted:
            entries = [
                (self.seconds[name, test], test, files[file])
                for (name, test), files in self.lines.items()
                if name == implementation and file in files and (name, test) not in self.unusable
            ]
            self._sorted[implementation, file] = [(test, lines) for _, test, lines in sorted(entries)]
        bits = _bits(range(first, last + 1))
        return [test for test, lines in self._sorted[implementation, file] if lines & bits]

    def write(self, file: Path, made_of: str) -> None:
        """Keep it in `file`; `made_of` says what it was learnt from."""
        content = {
            "made_of": made_of,
            "tests": [
                [
                    *test,
                    self.seconds.get(test, 0.0),
                    self.unusable.get(test),
                    {name: hex(of) for name, of in files.items()},
                ]
                for test, files in self.lines.items()
            ],
        }
        file.write_text(json.dumps(content), encoding="utf-8")

    @classmethod
    def read(cls, file: Path, made_of: str) -> Reach | None:
        """What `file` keeps; ``None`` if there is none, or it was learnt from something else."""
        content = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        if content.get("made_of") != made_of:
            return None
        reach = cls()
        for implementation, name, seconds, why, files in content["tests"]:
            test = implementation, name
            reach.seconds[test] = seconds
            reach.lines[test] = {file: int(lines, 16) for file, lines in files.items()}
            if why is not None:
                reach.unusable[test] = why
        return reach


def _bits(lines: Collection[int]) -> int:
    return sum(1 << line for line in set(lines))


@dataclass(frozen=True)
class _Pass:
    """A change that changes nothing, and looks on."""

    name: str
    about: str
    apply: Callable[[], AbstractContextManager[Any]]


def learn(
    files: Collection[str],
    implementations: Sequence[str],
    processes: int,
    suites: Path,
    fresh: Callable[[], AbstractContextManager[Any]],
) -> Reach:
    """Run all tests once, watched.

    Args:
        files: the absolute names of the mutated files.
        implementations: whose tests to run.
        processes: how many at a time.
        suites: a file or folder of tests.
        fresh: entered in each process before its tests.
    """
    reach = Reach()
    with TemporaryDirectory() as folder:

        def job(implementation: str, number: int) -> Job:
            notes = Path(folder) / f"{implementations.index(implementation)}-{number}"
            notes.mkdir()
            names: dict[str, str] = {}

            @contextlib.contextmanager
            def watched() -> Iterator[None]:
                with _watching(files, notes), fresh():
                    yield

            def mine(case: Case, _: Sequence[TestResult]) -> bool:
                names[case.nodeid] = case.test
                return crc32(case.test.encode()) % processes == number

            def done(observed: Observed) -> None:
                _learn(reach, implementation, observed, notes, names)

            entry = _Pass("reach", "Nothing is changed.", watched)
            return Job(entry, implementation, [mine], done, limit=lambda case: max(_LIMIT_S, case.seconds))

        run(
            [job(name, number) for name in implementations for number in range(processes)],
            processes,
            None,
            suites=suites,
        )
    return reach


def _learn(reach: Reach, implementation: str, observed: Observed, notes: Path, names: Mapping[str, str]) -> None:
    if observed.trouble is not None:
        raise PlanError(f"{implementation} cannot be watched: {observed.trouble}")
    for result in observed.results:
        test = implementation, result.test
        reach.seconds[test] = result.duration_s
        if result.verdict is not Verdict.PASS:
            reach.unusable[test] = f"{result.verdict}: {result.message}"
    for file in notes.iterdir():
        by_node: dict[str, dict[str, list[int]]] = json.loads(file.read_text(encoding="utf-8"))
        before = by_node.pop("", {})  # what ran before the first test served them all
        for node, files in by_node.items():
            reach.lines[implementation, names[node]] = {
                name: _bits([*files.get(name, ()), *before.get(name, ())]) for name in {*files, *before}
            }


# -- in the child -----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _watching(files: Collection[str], notes: Path) -> Iterator[None]:
    """Note the lines of `files` that each test runs, and write them into the folder `notes`."""
    names = frozenset(files)
    by_test: dict[str, dict[str, set[int]]] = {}

    def call(frame: FrameType, _event: str, _: Any) -> Any:
        name = frame.f_code.co_filename
        if name not in names:
            return None
        test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
        lines = by_test.setdefault(test, {}).setdefault(name, set())
        lines.add(frame.f_lineno)

        def line(frame: FrameType, event: str, _: Any) -> Any:
            if event == "line":
                lines.add(frame.f_lineno)
            return line

        return line

    threading.settrace(call)
    sys.settrace(call)
    try:
        yield
    finally:
        sys.settrace(None)
        threading.settrace(None)
        content = {test: {name: sorted(lines) for name, lines in of.items()} for test, of in by_test.items()}
        (notes / f"{os.getpid()}.json").write_text(json.dumps(content), encoding="utf-8")
