"""A stand-in for torch.musa.

What differs from torch.cuda 2.7:

- no keep_graph: the constructor takes nothing, and there is no instantiate();
- make_graphed_callables takes no pool;
- a pool is never released;
- graph stays on its stream when the end of the capture fails.
"""

from __future__ import annotations

from typing import Any

from standin.device import *
from standin.graphs import Shell, StaysOnItsStream, keep, pools_of, same

from reference_impl import CUDAGraph
from reference_impl import make_graphed_callables as _make

__all__ = ["MUSAGraph", "graph", "make_graphed_callables"]


class MUSAGraph(Shell):
    def __init__(self) -> None:
        super().__init__(CUDAGraph())

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        self._inner.capture_begin(pool, capture_error_mode)
        keep(pools_of(self))

    capture_end = same(CUDAGraph.capture_end)
    replay = same(CUDAGraph.replay)
    reset = same(CUDAGraph.reset)
    pool = same(CUDAGraph.pool)
    enable_debug_mode = same(CUDAGraph.enable_debug_mode)
    debug_dump = same(CUDAGraph.debug_dump)
    reinstantiate_graph = same(CUDAGraph.instantiate)


class graph(StaysOnItsStream):
    def __init__(
        self, musa_graph: MUSAGraph, pool: Any = None, stream: Any = None, capture_error_mode: str = "global"
    ) -> None:
        super().__init__(musa_graph, stream, {"pool": pool, "capture_error_mode": capture_error_mode})


def make_graphed_callables(
    callables: Any, sample_args: Any, num_warmup_iters: int = 3, allow_unused_input: bool = False
) -> Any:
    return _make(callables, sample_args, num_warmup_iters, allow_unused_input)
