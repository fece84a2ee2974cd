"""What reading a large record costs: time and memory of each command that reads records.

    python benchmarks/large_records.py [COUNT…] [COMMAND…]

For each COUNT (by default 100,000 and 1,000,000) it writes the record of a run of that many tests, and of the same run
in two shards, into a temporary folder, and prints for each COMMAND (by default report, merge, coverage, waivers and
compare) its wall time, its processor time, also for each result, and the most memory that its process had.  One test in
a thousand fails; the others pass, each with a line such as a real run's.  The requirements are those that are
installed.  The million needs about 5 GB of disk.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from copy import copy
from pathlib import Path
from typing import NamedTuple

from tabulate import tabulate

from conformance.records.result import TestResult
from conformance.records.run import Run
from conformance.records.shards import Shard
from conformance.records.subject import Subject
from conformance.records.verdicts import Verdict
from conformance.requirements.loading import load_registry

SUBJECT = Subject("large.Graph", "large.py:Graph", "cuda", "2.14", {}, {"python": "3.11", "device": "none"})
COUNTS = (100_000, 1_000_000)
#: The small and the large record whose results are compared.
GROWTH = (10_000, 1_000_000)
#: One test in so many fails.
FAILING = 1_000
_MIB = 1 << 20
#: A command, and the most memory that its process had.  What the system says of a child counts its parent's, too.
_COMMAND = """
import sys, time
from conformance.cli import main
status = main()
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]
print(time.process_time(), peak, file=sys.stderr)
sys.exit(status)
"""


def plan_of(count: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The tests of a run of `count`, each with what it decides."""
    entries = [entry for entry in load_registry().seen_by(SUBJECT.dialect).requirements.values() if entry.scored]
    for number in range(count):
        entry = entries[number % len(entries)]
        name = entry.id.partition(".")[2].replace("-", "_")
        yield f"suites/{entry.area}/test_{name}.py::test_{name}[float32-{number}]", (entry.id,)


def result_of(number: int, test: str, ids: tuple[str, ...]) -> TestResult:
    """What the test with that `number` came to."""
    command = f'pytest --impl=large.py:Graph --test="{test}"'
    if number % FAILING:
        return TestResult(test, ids, Verdict.PASS, duration_s=0.001, command=command)
    return TestResult(
        test,
        ids,
        Verdict.FAIL,
        message=f"promised: a replay reads what is there now\nseen: {number}",
        expected="a replay reads what is there now",
        seen=str(number),
        frames=("large.py:12 in replay",),
        duration_s=0.001,
        command=command,
        reproducer="import torch\n" * 100,
    )


def write_record(path: Path, count: int, shard: Shard | None = None) -> Path:
    """Write the record of a run of `count` tests, or of a `shard` of it."""
    # A registry of its own: records of the installed suites are refuted for tests that these do not have.
    run = Run(SUBJECT, copy(load_registry()), path)
    planned = {test: ids for test, ids in plan_of(count) if shard is None or shard.holds(test)}
    run.begin(planned, {} if shard is None else {"shard": str(shard)}, "2026-01-01T00:00:00+00:00")
    for number, (test, ids) in enumerate(planned.items()):
        run.started(test)
        run.ended(result_of(number, test, ids))
    assessment = run.assess(narrowed=shard is not None, stopped=None)
    run.end(assessment, assessment.exit_status, None)
    run.close()
    return path


class Cost(NamedTuple):
    """Seconds of wall time and of processor time, and MiB of memory: on a busy machine only the last two say much."""

    wall_s: float
    cpu_s: float
    memory: float


def measured(*words: str) -> Cost:
    """Run ``graph-conformance`` in a process of its own."""
    start = time.monotonic()
    words = (sys.executable, "-c", _COMMAND, *words)
    done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)  # noqa: S603 - its own
    if done.returncode not in {0, 1}:
        raise SystemExit(f"{' '.join(words[3:])} ended with {done.returncode}: {done.stderr}")
    cpu, peak = done.stderr.split()[-2:]
    return Cost(time.monotonic() - start, float(cpu), int(peak) * 1024 / _MIB)


def costs(count: int, commands: Iterable[str]) -> tuple[dict[str, Cost], float, list[int]]:
    """What each command costs with a record of `count` results, the record's MiB, and the bytes of its pages."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        whole = write_record(folder / "run.jsonl", count)
        shards = [folder / f"{index}.jsonl" for index in (1, 2)]
        if "merge" in commands:
            shards = [write_record(path, count, Shard(index, 2)) for index, path in enumerate(shards, 1)]
        ways = {
            "report": ["report", str(whole), "--output", str(folder / "report")],
            "merge": ["merge", *map(str, shards), "--output", str(folder / "all.jsonl")],
            "coverage": ["requirements", "--coverage", str(whole)],
            "waivers": ["waivers", str(whole)],
            "compare": ["compare", str(whole), str(whole)],
        }
        taken = {command: measured(*ways[command]) for command in commands}
        pages = [file.stat().st_size for file in (folder / "report").rglob("*.html")]
        return taken, whole.stat().st_size / _MIB, pages


def cost_of_a_result() -> float:
    """Processor time of a result in a large record against one in a small one: report or merge, the worse."""
    (small, _, _), (large, _, _) = (costs(count, ("report", "merge")) for count in GROWTH)
    few, many = GROWTH
    return max(large[name].cpu_s / many / (small[name].cpu_s / few) for name in small)


def main(counts: list[int], commands: list[str]) -> None:
    rows = []
    for count in counts:
        taken, size, pages = costs(count, commands)
        for command, cost in taken.items():
            rows.append((count, size, command, *cost, cost.cpu_s / count * 1e6))
            print(*rows[-1], flush=True)
        if pages:
            print(f"{len(pages)} pages of {sum(pages) / _MIB:.1f} MiB", flush=True)
    headers = ("results", "MiB of record", "command", "seconds", "of processor", "MiB of memory", "µs a result")
    print(tabulate(rows, headers=headers, floatfmt=".1f"))


if __name__ == "__main__":
    words = sys.argv[1:]
    numbers, names = [int(word) for word in words if word.isdecimal()], [word for word in words if not word.isdecimal()]
    main(numbers or list(COUNTS), names or ["report", "merge", "coverage", "waivers", "compare"])
