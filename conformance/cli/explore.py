"""``graph-conformance explore``: the tests that draw programs and lives, again and again with new examples."""

from __future__ import annotations

import argparse
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.cli.commands import add_command
from conformance.errors import ConformanceError, ExitStatus, KitError, UsageError, one_line
from conformance.session.options import positive
from conformance.text import visible_line

if TYPE_CHECKING:
    from conformance.cli.commands import Commands
    from conformance.records.result import TestResult

_DRAWING = ("suites/random_programs", "suites/lifecycle")
#: Seeds of one exploration follow each other.
_SEEDS = 1 << 31


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "explore", _explore, passes_on=True)
    parser.add_argument("--impl", required=True, metavar="NAME", help="the implementation, as for run")
    parser.add_argument(
        "--count", type=int, default=20_000, metavar="N", help="stop when so many examples were drawn (default 20000)"
    )
    parser.add_argument("--seed", type=int, metavar="SEED", help="of the first round; each next one has the next seed")
    parser.add_argument(
        "--output", type=Path, required=True, metavar="FOLDER", help="a new folder for records and scripts"
    )


@dataclass
class _Failure:
    """What one test came to in one way, in however many rounds.

    Attributes:
        seed: of the first round.
        result: the one with the shortest script.
        rounds: how many it was seen in.
    """

    seed: int
    result: TestResult
    rounds: int = 1


@dataclass
class _Exploration:
    """The rounds so far.

    Attributes:
        folder: of what they leave.
        examples: drawn in all of them.
        seeds: of the rounds that came to an end.
        failures: by test, verdict and what was promised.
    """

    folder: Path
    examples: int = 0
    seeds: list[int] = field(default_factory=list)
    failures: dict[tuple[str, ...], _Failure] = field(default_factory=dict)

    def add(self, seed: int, examples: int, results: Iterator[TestResult]) -> int:
        """Add a round; how many of its tests failed."""
        self.examples += examples
        self.seeds.append(seed)
        failed = [each for each in results if each.verdict.rejects or each.verdict.value == "error"]
        for result in failed:
            key = (result.test, result.verdict.value, result.expected or one_line(result.message, 80))
            known = self.failures.setdefault(key, _Failure(seed, result, rounds=0))
            known.rounds += 1
            if _length(result) < _length(known.result):
                known.seed, known.result = seed, result
        return len(failed)


def _length(result: TestResult) -> float:
    return len(result.reproducer) if result.reproducer else float("inf")


def _explore(options: argparse.Namespace) -> int:
    positive("--count", options.count, "a number of examples")
    try:
        options.output.mkdir(parents=True)
    except OSError as error:
        raise UsageError(f"--output={options.output} cannot be made: {error.strerror or error}") from None
    first = secrets.randbelow(_SEEDS) if options.seed is None else options.seed
    exploration = _Exploration(options.output)
    began = time.monotonic()
    try:
        while exploration.examples < options.count:
            _round(exploration, first + len(exploration.seeds), options)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
    except ConformanceError as error:
        # What was found until then is worth telling.
        print(f"graph-conformance: {visible_line(str(error))}", file=sys.stderr)
        _conclude(exploration, options.impl, time.monotonic() - began)
        return error.exit_status
    _conclude(exploration, options.impl, time.monotonic() - began)
    if exploration.examples < options.count:
        return ExitStatus.INTERRUPTED
    return ExitStatus.NOT_CONFORMING if exploration.failures else ExitStatus.CONFORMING


def _round(exploration: _Exploration, seed: int, options: argparse.Namespace) -> None:
    """Run the tests once, in a process of its own, with the examples of `seed`."""
    from conformance.property_tests import count_examples
    from conformance.records.record import read_record

    began = time.monotonic()
    record, output = exploration.folder / f"seed-{seed}.jsonl", exploration.folder / f"seed-{seed}.txt"
    words = ["run", f"--impl={options.impl}", f"--explore={seed}", "--isolate", f"--record={record}"]
    start = "import sys; from conformance.cli import main; sys.exit(main(sys.argv[1:]))"
    with output.open("wb") as stream, count_examples(exploration.folder / "examples") as counted:
        status = subprocess.run(  # noqa: S603  # this program again
            [sys.executable, "-c", start, *words, *_DRAWING, *options.rest],
            stdout=stream,
            stderr=subprocess.STDOUT,
            check=False,
        ).returncode
        examples = counted()
    if status not in {ExitStatus.CONFORMING, ExitStatus.NOT_CONFORMING, ExitStatus.KIT_FAILED} or not record.exists():
        raise KitError(f"the round of seed {seed} ended with status {status}: {output} says why")
    if not examples:
        raise KitError(f"the round of seed {seed} drew no example: {output} says why")
    failed = exploration.add(seed, examples, iter(read_record(record).results))
    seconds = time.monotonic() - began
    print(f"seed {seed}: {examples:,} examples in {seconds:.0f} s, failed tests: {failed}", flush=True)


def _conclude(exploration: _Exploration, implementation: str, seconds: float) -> None:
    """Print what was drawn and found, and write a script for each failure that has one."""
    from conformance.reproducing.saving import save

    rounds = len(exploration.seeds)
    seeds = f"seeds {exploration.seeds[0]} to {exploration.seeds[-1]}" if rounds else "no seed"
    print(f"\nexamples drawn: {exploration.examples:,}, in {seconds:.0f} s ({seeds})")
    print(f"failures: {len(exploration.failures)}")
    for number, failure in enumerate(exploration.failures.values(), 1):
        result = failure.result
        print(f"\n{number}. {result.test}: {result.verdict.value}, rounds: {failure.rounds} of {rounds}")
        for name, text in (("expected", result.expected), ("seen", result.seen or result.message)):
            if text:
                print(f"   {name}: {visible_line(one_line(text, 300))}")
        if result.reproducer:
            print(f"   script: {save(exploration.folder / f'failure-{number}', implementation, result)}")
        print(f"   record: {exploration.folder / f'seed-{failure.seed}.jsonl'}")
        print(f"   again: {visible_line(result.command)}")
