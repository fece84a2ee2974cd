"""A stand-in for torch.gcu.

What differs from torch.cuda 2.7:

- no keep_graph: the constructor takes nothing, and there is no instantiate();
- make_graphed_callables takes no pool;
- graph stays on its stream when the end of the capture fails.
"""

from __future__ import annotations

from typing import Any

from standin.device import *
from standin.graphs import Shell, StaysOnItsStream, same

from reference_impl import CUDAGraph
from reference_impl import make_graphed_callables as _make

__all__ = ["GCUGraph", "graph", "make_graphed_callables"]


class GCUGraph(Shell):
    def __init__(self) -> None:
        super().__init__(CUDAGraph())

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        self._inner.capture_begin(pool, capture_error_mode)

    capture_end = same(CUDAGraph.capture_end)
    replay = same(CUDAGraph.replay)
    reset = same(CUDAGraph.reset)
    pool = same(CUDAGraph.pool)
    enable_debug_mode = same(CUDAGraph.enable_debug_mode)
    debug_dump = same(CUDAGraph.debug_dump)

    def register_generator_state(self, state: Any) -> None:
        """Take a generator for which the software device needs no registration."""


class graph(StaysOnItsStream):
    def __init__(
        self, gcu_graph: GCUGraph, pool: Any = None, stream: Any = None, capture_error_mode: str = "global"
    ) -> None:
        super().__init__(gcu_graph, stream, {"pool": pool, "capture_error_mode": capture_error_mode})


def make_graphed_callables(
    callables: Any, sample_args: Any, num_warmup_iters: int = 3, allow_unused_input: bool = False
) -> Any:
    return _make(callables, sample_args, num_warmup_iters, allow_unused_input)
