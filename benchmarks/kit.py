"""What the kit costs: its start, its share of a test, and a whole run of the reference.

    python benchmarks/kit.py [--repeats N]

Each figure compares commands in processes of their own, by the processor time that they and their children use, so
that other programs matter little.  What is compared takes turns, and the median of the repeats counts.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: Tests in the smaller and in the larger of two files, whose difference holds no start of a process.
FEW, MANY = 100, 1100

PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
BARE = (*PYTEST, "-p", "no:conformance", "-c", os.devnull, "--import-mode=importlib")
KIT = (*PYTEST, "-c", str(ROOT / "conformance" / "pytest.ini"), "--impl=reference", "--force")
COMMAND = (sys.executable, "-c", "from conformance.cli import main; raise SystemExit(main())")

EMPTY = """
import pytest

@pytest.mark.parametrize("number", range({count}))
def test_it(number):
    pass
"""
EMPTY_OF_A_REQUIREMENT = """
import pytest
from conformance.markers import requirement

@requirement("capture.runs-nothing")
@pytest.mark.parametrize("number", range({count}))
def test_it(impl, number):
    pass
"""


def seconds(command: Sequence[str], folder: Path) -> float:
    """The processor time that `command` takes in `folder`, with that of its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603  # ours
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def in_turn(commands: Mapping[str, Sequence[str]], folder: Path, repeats: int) -> dict[str, float]:
    """The median processor time of each command, all of which take turns; a first turn warms the caches."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(repeats + 1):
        for name, command in commands.items():
            took = seconds(command, folder)
            if turn:
                times[name].append(took)
    return {name: statistics.median(taken) for name, taken in times.items()}


def in_folder(measure: Callable[[Path, int], float], repeats: int) -> float:
    """What `measure` gives in a new folder."""
    with tempfile.TemporaryDirectory() as folder:
        return measure(Path(folder), repeats)


# -- the start --------------------------------------------------------------------------------------------------------


def start_of_import(folder: Path, repeats: int) -> float:
    """Seconds that ``import conformance`` takes beyond ``python -c pass``."""
    commands = {code: (sys.executable, "-c", code) for code in ("pass", "import conformance")}
    times = in_turn(commands, folder, repeats)
    return times["import conformance"] - times["pass"]


def start_of_help(folder: Path, repeats: int) -> float:
    """Seconds that ``graph-conformance --help`` takes beyond ``python -c pass``."""
    times = in_turn({"pass": (sys.executable, "-c", "pass"), "help": (*COMMAND, "--help")}, folder, repeats)
    return times["help"] - times["pass"]


# -- a test -----------------------------------------------------------------------------------------------------------


def _per_test(folder: Path, repeats: int, *words: str) -> float:
    """Seconds that the kit adds to an empty test of a requirement, recorded."""
    commands = {}
    for count in (FEW, MANY):
        for kind, text in (("bare", EMPTY), ("kit", EMPTY_OF_A_REQUIREMENT)):
            (folder / f"test_{kind}_{count}.py").write_text(text.format(count=count), encoding="utf-8")
        commands[f"bare {count}"] = (*BARE, f"test_bare_{count}.py")
        record = f"--record={folder / 'run.jsonl'}"
        commands[f"kit {count}"] = (*KIT, f"--rootdir={folder}", record, *words, f"test_kit_{count}.py")
    times = in_turn(commands, folder, repeats)
    kit, bare = ((times[f"{kind} {MANY}"] - times[f"{kind} {FEW}"]) / (MANY - FEW) for kind in ("kit", "bare"))
    return kit - bare


def test_here(folder: Path, repeats: int) -> float:
    """The same in one process."""
    return _per_test(folder, repeats, "--no-isolate")


def test_isolated(folder: Path, repeats: int) -> float:
    """The same in a worker, with what the controller does."""
    return _per_test(folder, repeats, "--isolate")


# -- a whole run ------------------------------------------------------------------------------------------------------


def whole_run(folder: Path, repeats: int) -> float:
    """A whole run of the reference in one process, in imports of torch and as many empty tests of pytest's own."""
    run = (*COMMAND, "run", "--impl=reference", "--no-isolate", f"--record={folder / 'run.jsonl'}", "--force", "-q")
    seconds(run, folder)
    count = (folder / "run.jsonl").read_bytes().count(b'"kind": "result"')
    (folder / "test_bare.py").write_text(EMPTY.format(count=count), encoding="utf-8")
    commands = {"run": run, "torch": (sys.executable, "-c", "import torch"), "bare": (*BARE, "test_bare.py")}
    times = in_turn(commands, folder, repeats)
    return times["run"] / (times["torch"] + times["bare"])


#: By its subject: what is measured, what a unit of it is called and is worth, the target, and at most so many repeats.
ROWS: Mapping[str, tuple[Callable[[Path, int], float], str, float, float, int]] = {
    "import conformance, more than python -c pass": (start_of_import, "s", 1.0, 0.15, 21),
    "graph-conformance --help, more than python -c pass": (start_of_help, "s", 1.0, 0.15, 21),
    "an empty test of a requirement, more than pytest's": (test_here, "ms", 1000.0, 1.0, 5),
    "the same isolated": (test_isolated, "ms", 1000.0, 4.0, 5),
    "whole run of the reference, in torch's import and empty tests": (whole_run, "times", 1.0, 8.0, 3),
}


def main() -> None:
    parser = argparse.ArgumentParser(description="What the kit costs.")
    parser.add_argument("--repeats", type=int, default=21, help="at most so many of each; long ones have fewer")
    repeats = parser.parse_args().repeats
    print(f"{'subject':64} {'measured':>9} {'target':>8}")
    for subject, (measure, unit, scale, target, most) in ROWS.items():
        print(f"{subject:64} {in_folder(measure, min(repeats, most)) * scale:9.3f} {target:8g} {unit}", flush=True)


if __name__ == "__main__":
    main()
