"""What a node costs in a graph of 100,000 of them, against one in a graph of 1,000, on the software device.

    python benchmarks/large_graphs.py

The graphs are chains of ``x.add_(1)``.  Memory is what the process has more of (Linux) with template and executable.
"""

from __future__ import annotations

import gc
import os
from dataclasses import dataclass, fields
from pathlib import Path
from statistics import median

import torch
from measuring import chain, seconds

import reference_impl as ref

SMALL, LARGE = 1_000, 100_000


@dataclass(frozen=True)
class Costs:
    """Seconds for each node."""

    capture: float
    instantiate: float
    replay: float
    reset: float

    @property
    def total(self) -> float:
        return self.capture + self.instantiate + self.replay + self.reset


def costs(length: int) -> tuple[Costs, float]:
    """What each node of a graph costs, and the bytes that it takes."""
    program, graph = chain(lambda x: x.add_(1), length), ref.CUDAGraph(keep_graph=True)
    before = resident()
    with ref.graph(graph):
        capture = seconds(program)
    instantiate = seconds(graph.instantiate)
    nbytes = resident() - before
    graph.replay()
    replay, reset = seconds(graph.replay), seconds(graph.reset)
    return Costs(*(each / length for each in (capture, instantiate, replay, reset))), nbytes / length


def resident() -> int:
    """Bytes of memory that the process has."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def growth() -> tuple[dict[str, float], float]:
    """A node's costs in the large graph as multiples of those in a small one, by name, and its bytes there."""
    torch.set_num_threads(1)
    small = [costs(SMALL)[0] for _ in range(30)][5:]
    large, nbytes = costs(LARGE)
    names = ["total", *(field.name for field in fields(Costs))]
    return {name: getattr(large, name) / median(getattr(each, name) for each in small) for name in names}, nbytes


def cost_of_a_node() -> float:
    """Capture, instantiation, replay and reset of a node in the large graph, against one in a small one."""
    return growth()[0]["total"]


def bytes_of_a_node() -> float:
    """Memory that a node of the large graph takes, template and executable together."""
    torch.set_num_threads(1)
    costs(SMALL)
    return costs(LARGE)[1]


def main() -> None:
    ratios, nbytes = growth()
    print(f"torch {torch.__version__}: a node of {LARGE:,} against one of {SMALL:,}")
    for name, ratio in ratios.items():
        print(f"{name:12} {ratio:.2f}")
    print(f"{'memory':12} {nbytes:.0f} bytes a node")


if __name__ == "__main__":
    main()
