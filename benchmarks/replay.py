"""Time of a replay against the same program run eagerly, on the software device.

    python benchmarks/replay.py

Prints ratios of medians of alternating rounds in one process.  Both work on the same tensors; only their time is
compared here.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from measuring import chain, medians, training_step

import reference_impl as ref


def against_eager(program: Callable[[], None], *, rounds: int, times: int) -> float:
    """Time of a replay of `program`, as a part of the time that it takes eagerly."""
    torch.set_num_threads(1)
    program()
    graph = ref.CUDAGraph()
    with ref.graph(graph):
        program()
    eager, replay = medians(program, graph.replay, rounds=rounds, times=times)
    return replay / eager


def small_training_step() -> float:
    """A training step on 8 x 8 tensors."""
    return against_eager(training_step(8), rounds=60, times=30)


def large_training_step() -> float:
    """A training step on 512 x 512 tensors."""
    return against_eager(training_step(512), rounds=30, times=1)


def chain_of_adds() -> float:
    """1,000 times ``x.add_(1)`` on 8 elements."""
    return against_eager(chain(lambda x: x.add_(1)), rounds=40, times=2)


def chain_of_tensor_adds() -> float:
    """1,000 times ``x.add_(y)`` on 8 elements, where eager work makes no tensor of a number either."""
    y = torch.randn(8)
    return against_eager(chain(lambda x: x.add_(y)), rounds=40, times=2)


def main() -> None:
    print(f"torch {torch.__version__}: replay against eager")
    for row in (small_training_step, large_training_step, chain_of_adds, chain_of_tensor_adds):
        print(f"{row.__doc__:85} {row():.2f}")


if __name__ == "__main__":
    main()
