"""Time of a capture on the software device: against eager work in steady state, and the first one of a process.

    python benchmarks/capture.py

Steady state: the program was captured before.  What is timed is the program inside the capture, not its begin and end.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import torch
from measuring import chain, seconds, training_step

import reference_impl as ref

FIRST = """
import time
from measuring import training_step
import reference_impl as ref
step, graph = training_step(8), ref.CUDAGraph()
start = time.perf_counter()
with ref.graph(graph):
    step()
print(time.perf_counter() - start)
"""


def against_eager(program: Callable[[], None], rounds: int = 30) -> float:
    """Time of `program` in a capture, as a multiple of the time that it takes eagerly."""
    torch.set_num_threads(1)
    eager, captured = [], []
    for _ in range(rounds):
        eager.append(seconds(program))
        graph = ref.CUDAGraph()
        with ref.graph(graph):
            captured.append(seconds(program))
        graph.reset()
    return statistics.median(captured) / statistics.median(eager)


def capture_of_a_training_step() -> float:
    """A training step on 8 x 8 tensors."""
    return against_eager(training_step(8), rounds=100)


def capture_of_adds() -> float:
    """1,000 times ``x.add_(1)`` on 8 elements."""
    return against_eager(chain(lambda x: x.add_(1)))


def capture_of_sums() -> float:
    """1,000 times ``x = x + y`` on 8 elements: of all operators with a result, the least eager work."""
    y = torch.randn(8)
    return against_eager(chain(lambda x: x + y))


def first_capture() -> float:
    """Seconds of the first capture of a process, a training step on 8 x 8 tensors."""
    return statistics.median(_first_capture() for _ in range(3))


def _first_capture() -> float:
    command = [sys.executable, "-c", FIRST]
    done = subprocess.run(command, cwd=Path(__file__).parent, check=True, capture_output=True)  # noqa: S603  # our own
    return float(done.stdout)


def main() -> None:
    print(f"torch {torch.__version__}: capture against eager")
    for row in (capture_of_a_training_step, capture_of_adds, capture_of_sums):
        print(f"{row.__doc__:85} {row():.1f}")
    print(f"{first_capture.__doc__:85} {first_capture():.2f} s")


if __name__ == "__main__":
    main()
