"""Host time of a replay against the same step run eagerly, on the software device.

    python benchmarks/replay.py

Prints medians of alternating rounds in one process, so that a drift of the machine meets both alike.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch
from torch import nn

import reference_impl as ref

ROUNDS, STEPS = 60, 30


def microseconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    for _ in range(STEPS):
        call()
    return (time.perf_counter() - start) / STEPS * 1e6


def main() -> None:
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    x, y = torch.randn(8, 8), torch.randn(8, 8)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()

    for _ in range(20):
        step()
    graph = ref.CUDAGraph(keep_graph=True)
    with ref.graph(graph):
        step()
    graph.instantiate()
    nodes = ref.cudart().cudaGraphGetNodes(graph.raw_cuda_graph())[2]
    # Both work on the same parameters; only their time is compared here.
    eager, replay = [], []
    for _ in range(ROUNDS):
        eager.append(microseconds(step))
        replay.append(microseconds(graph.replay))
    a, b = statistics.median(eager), statistics.median(replay)
    print(f"torch {torch.__version__}, {nodes} nodes: eager {a:.1f} us, replay {b:.1f} us, ratio {b / a:.2f}")


if __name__ == "__main__":
    main()
