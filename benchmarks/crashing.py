"""Whole runs of classes that cost their workers, beside one of a class that is well.

    python benchmarks/crashing.py [--rounds=N] [--classes=healthy,crashing,hanging,destructor] [words for the run …]

Each class is the reference's on the software device with one fault: its process ends in every ``instantiate``; every
tenth replay hangs; its destructor aborts.  The classes alternate, so that a drift of the machine meets all alike, and
the median of the rounds is printed: seconds by the clock, and those of all processors.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from conformance.records.record import read_record

CLASSES = """
import os
import time

import reference_impl


class healthy(reference_impl.CUDAGraph):
    pass


class crashing(reference_impl.CUDAGraph):
    def instantiate(self):
        os._exit(7)


class hanging(reference_impl.CUDAGraph):
    replays = 0

    def replay(self):
        hanging.replays += 1
        if hanging.replays % 10 == 0:
            time.sleep(10**6)
        super().replay()


class destructor(reference_impl.CUDAGraph):
    def __del__(self):
        os.abort()
"""
NAMES = ("healthy", "crashing", "hanging", "destructor")


@dataclass(frozen=True)
class Run:
    """What one run cost.

    Attributes:
        wall: seconds by the clock.
        processor: seconds of all its processes.
        verdicts: how many tests have each.
    """

    wall: float
    processor: float
    verdicts: Counter[str]


def run(folder: Path, name: str, words: list[str]) -> Run:
    record = folder / f"{name}.jsonl"
    program = [sys.executable, "-c", "import sys; from conformance.cli import main; sys.exit(main())"]
    command = [*program, "run", f"--impl=classes.py:{name}", "--isolate", f"--record={record}", "--force", *words]
    times, start = os.times(), time.perf_counter()
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=False)  # noqa: S603 - this interpreter
    wall, end = time.perf_counter() - start, os.times()
    processor = end.children_user + end.children_system - times.children_user - times.children_system
    return Run(wall, processor, Counter(result.verdict.value for result in read_record(record).results))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--classes", default=",".join(NAMES))
    options, words = parser.parse_known_args()
    names = options.classes.split(",")
    runs: dict[str, list[Run]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        (folder / "classes.py").write_text(CLASSES, encoding="utf-8")
        for _ in range(options.rounds):
            for name in names:
                runs[name].append(run(folder, name, words))
    print(f"{'class':<12} {'tests':>6} {'lost':>6} {'wall s':>8} {'ratio':>6} {'cpu s':>8} {'ratio':>6}")
    first = runs[names[0]]
    for name in names:
        lost = sum(runs[name][-1].verdicts[verdict] for verdict in ("crash", "timeout"))
        row = f"{name:<12} {sum(runs[name][-1].verdicts.values()):>6} {lost:>6}"
        for what in ("wall", "processor"):
            base, value = (statistics.median(getattr(each, what) for each in of) for of in (first, runs[name]))
            row += f" {value:>8.1f} {value / base:>6.2f}"
        print(row)


if __name__ == "__main__":
    main()
