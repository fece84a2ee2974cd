"""The figures that docs/performance.md explains: each a ratio or a growth that is measured in one run.

    python benchmarks/table.py [--quick] [--markdown FILE] [--only TEXT]

Rows that need a GPU are left out where there is none; --quick leaves out those that take more than half a minute, and
--only takes those whose words have TEXT in them.  A figure beyond its bound is marked, and the exit status is 0: what a
busy machine measures is no verdict.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import torch
from tabulate import tabulate

HERE = Path(__file__).parent
#: Longest that a row may take, in seconds.
LIMIT = 3_600


@dataclass(frozen=True)
class Row:
    """One figure.

    Attributes:
        what: what is measured.
        against: what it is a multiple of, or its unit.
        bound: the figure that it should stay at or below.
        function: ``module:function`` beside this file; it takes nothing and returns the figure.
        slow: whether it takes more than half a minute.
        gpu: whether it needs a GPU; then it runs with the reference on it.
    """

    what: str
    against: str
    bound: float
    function: str
    slow: bool = False
    gpu: bool = False

    def measure(self) -> float:
        """The figure, of a process of its own: what a row leaves behind meets no other row."""
        command = [sys.executable, __file__, "--row", self.function, *(["--gpu"] if self.gpu else [])]
        done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, timeout=LIMIT, check=False)  # noqa: S603  # our own
        if done.returncode:
            raise RuntimeError(f"{self.function} ended with status {done.returncode}:\n{done.stderr[-2_000:]}")
        return float(json.loads(done.stdout.splitlines()[-1]))


ROWS = (
    Row("replay on a GPU, 1 to 1,000 nodes", "native replay", 0.95, "gpu:replay_against_native", gpu=True),
    Row("replay on a GPU, 1 to 1,000 nodes", "the bare launch from Python", 1.2, "gpu:replay_against_launch", gpu=True),
    Row("each of 16 hooks of a replay on a GPU", "a Python call", 1.5, "gpu:replay_with_hooks", gpu=True),
    Row("replay on a GPU that checks 10 to 10,000 inputs", "native's", 0.5, "gpu:liveness_against_native", gpu=True),
    Row("capture_end and reset on a GPU", "native", 1.5, "gpu:ends_against_native", gpu=True),
    Row("replay of a training step, 8 x 8 tensors", "eager", 0.45, "replay:small_training_step"),
    Row("replay of a training step, 512 x 512 tensors", "eager", 1.02, "replay:large_training_step"),
    Row("replay of 1,000 in-place adds on 8 elements", "eager", 0.6, "replay:chain_of_adds"),
    Row("capture of a training step, 8 x 8 tensors", "eager", 10, "capture:capture_of_a_training_step"),
    Row("capture of 1,000 in-place adds on 8 elements", "eager", 10, "capture:capture_of_adds"),
    Row("first capture of a process", "seconds", 2, "capture:first_capture"),
    Row("a node of 100,000", "one of 1,000", 1.2, "large_graphs:cost_of_a_node", slow=True),
    Row("memory of a node", "bytes", 1_500, "large_graphs:bytes_of_a_node", slow=True),
    Row("capture beside 1,000 live graphs of its pool", "the first", 1.2, "many_graphs:next_against_first"),
)


def measured(rows: list[Row]) -> list[tuple[str, ...]]:
    """A line of the table for each row."""
    lines = []
    for row in rows:
        print(f"{row.what}, against {row.against} …", file=sys.stderr)
        figure = row.measure()
        mark = "" if figure <= row.bound else "  (!)"
        lines.append(
            (
                row.what,
                row.against,
                f"{row.bound:g}",
                f"{figure:.4g}{mark}" if figure >= 1_000 else f"{figure:.2f}{mark}",
            )
        )
    return lines


def environment() -> str:
    """Where the figures come from."""
    where = torch.cuda.get_device_name() if torch.cuda.is_available() else f"{os.cpu_count()} processors, no GPU"
    return f"torch {torch.__version__}, Python {platform.python_version()}, {where}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="leave out what takes more than half a minute")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table there, too")
    parser.add_argument("--only", default="", metavar="TEXT", help="only rows that have TEXT in their words")
    parser.add_argument("--row", help=argparse.SUPPRESS)
    parser.add_argument("--gpu", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.row:
        module, function = options.row.split(":")
        if options.gpu:
            importlib.import_module("reference_impl").use_device("cuda")
        print(json.dumps(getattr(importlib.import_module(module), function)()))
        return
    rows = [
        row
        for row in ROWS
        if options.only in f"{row.what} {row.against}"
        and not (options.quick and row.slow)
        and (torch.cuda.is_available() or not row.gpu)
    ]
    headers = ("what", "against", "at most", "measured")
    lines = measured(rows)
    print(environment(), tabulate(lines, headers), sep="\n\n")
    if options.markdown:
        options.markdown.write_text(f"{environment()}\n\n{tabulate(lines, headers, tablefmt='pipe')}\n")


if __name__ == "__main__":
    main()
