"""Time of a capture while 1,000 graphs live in its pool, against the first ones, on the software device.

    python benchmarks/many_graphs.py

Each graph is a training step on 8 x 8 tensors.
"""

from __future__ import annotations

import statistics

import torch
from measuring import seconds, training_step

import reference_impl as ref

LIVE, AT_EACH_END = 1_000, 50


def next_against_first() -> float:
    """Time of a capture into a pool that 1,000 live graphs share, as a multiple of the time of the first ones."""
    torch.set_num_threads(1)
    step, pool = training_step(8), ref.graph_pool_handle()
    graphs: list[ref.CUDAGraph] = []

    def capture() -> None:
        graph = ref.CUDAGraph()
        with ref.graph(graph, pool=pool):
            step()
        graphs.append(graph)

    capture()
    times = [seconds(capture) for _ in range(LIVE + AT_EACH_END)]
    return statistics.median(times[LIVE:]) / statistics.median(times[:AT_EACH_END])


def main() -> None:
    print(f"torch {torch.__version__}: {next_against_first.__doc__} {next_against_first():.2f}")


if __name__ == "__main__":
    main()
