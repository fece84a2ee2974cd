"""A stand-in for torch.cuda of torch 2.13.

What differs from its page:

- graph stays on its stream when the end of the capture fails;
- there is no graph data without NVIDIA's runtime.
"""

from __future__ import annotations

from typing import Any

from standin.device import *
from standin.graphs import Shell, StaysOnItsStream, same

from reference_impl import CUDAGraph as _CUDAGraph
from reference_impl import make_graphed_callables

__all__ = ["CUDAGraph", "graph", "make_graphed_callables"]


class CUDAGraph(Shell):
    def __init__(self, keep_graph: bool = False) -> None:
        super().__init__(_CUDAGraph(keep_graph))

    capture_begin = same(_CUDAGraph.capture_begin)
    capture_end = same(_CUDAGraph.capture_end)
    instantiate = same(_CUDAGraph.instantiate)
    replay = same(_CUDAGraph.replay)
    reset = same(_CUDAGraph.reset)
    pool = same(_CUDAGraph.pool)
    enable_debug_mode = same(_CUDAGraph.enable_debug_mode)
    raw_cuda_graph = same(_CUDAGraph.raw_cuda_graph)
    raw_cuda_graph_exec = same(_CUDAGraph.raw_cuda_graph_exec)

    def debug_dump(self, debug_path: str) -> None:
        self._inner.debug_dump(debug_path)

    def get_graph_data(self) -> dict[str, Any]:
        raise RuntimeError("get_graph_data needs cuda.bindings")


class graph(StaysOnItsStream):
    def __init__(
        self,
        cuda_graph: CUDAGraph,
        pool: Any = None,
        stream: Any = None,
        capture_error_mode: str = "global",
        check_input_liveness: bool = False,
    ) -> None:
        settings = {
            "pool": pool,
            "capture_error_mode": capture_error_mode,
            "check_input_liveness": check_input_liveness,
        }
        super().__init__(cuda_graph, stream, settings)
