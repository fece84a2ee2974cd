"""A stand-in for torch.mlu.

What differs from torch.cuda 2.7:

- no keep_graph: the constructor takes nothing, and there is no instantiate();
- captures are relaxed unless another mode is named;
- make_graphed_callables takes no pool;
- graph stays on its stream when the end of the capture fails.
"""

from __future__ import annotations

from typing import Any

from standin.device import *
from standin.graphs import Shell, StaysOnItsStream, same

from reference_impl import CUDAGraph
from reference_impl import make_graphed_callables as _make

__all__ = ["MLUGraph", "graph", "make_graphed_callables"]


class MLUGraph(Shell):
    def __init__(self) -> None:
        super().__init__(CUDAGraph())

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "relaxed") -> None:
        self._inner.capture_begin(pool, capture_error_mode)

    capture_end = same(CUDAGraph.capture_end)
    replay = same(CUDAGraph.replay)
    reset = same(CUDAGraph.reset)
    pool = same(CUDAGraph.pool)
    enable_debug_mode = same(CUDAGraph.enable_debug_mode)
    debug_dump = same(CUDAGraph.debug_dump)


class graph(StaysOnItsStream):
    def __init__(
        self, mlu_graph: MLUGraph, pool: Any = None, stream: Any = None, capture_error_mode: str = "relaxed"
    ) -> None:
        super().__init__(mlu_graph, stream, {"pool": pool, "capture_error_mode": capture_error_mode})


def make_graphed_callables(
    callables: Any, sample_args: Any, num_warmup_iters: int = 3, allow_unused_input: bool = False
) -> Any:
    return _make(callables, sample_args, num_warmup_iters, allow_unused_input, capture_error_mode="relaxed")
