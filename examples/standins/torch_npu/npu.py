"""A stand-in for torch.npu.

What differs from torch.cuda 2.7:

- no keep_graph: the constructor takes nothing, and there is no instantiate();
- the mode is the fifth argument of graph, not the fourth;
- debug_dump writes JSON, two files, whether or not debugging was enabled;
- a capture that fails keeps its pool;
- graph stays on its stream when the end of the capture fails.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from standin.device import *
from standin.graphs import Shell, StaysOnItsStream, keep, pools_of, same

import reference_impl
from reference_impl import CUDAGraph, make_graphed_callables

__all__ = ["NPUGraph", "graph", "make_graphed_callables"]


class NPUGraph(Shell):
    def __init__(self) -> None:
        super().__init__(CUDAGraph())
        self._inner.enable_debug_mode()

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        self._inner.capture_begin(pool, capture_error_mode)

    def capture_end(self) -> None:
        pools = pools_of(self)
        try:
            self._inner.capture_end()
        except RuntimeError:
            keep(pools)
            raise

    replay = same(CUDAGraph.replay)
    reset = same(CUDAGraph.reset)
    pool = same(CUDAGraph.pool)

    def enable_debug_mode(self) -> None:
        """Set a flag that nobody reads."""

    def debug_dump(self, debug_path: str | os.PathLike[str]) -> None:
        runtime, template = reference_impl.cudart(), self._inner.raw_cuda_graph()
        nodes = runtime.cudaGraphGetNodes(template, runtime.cudaGraphGetNodes(template)[2])[1]
        for suffix in ("", ".aligned.json"):
            text = json.dumps([str(node) for node in nodes])
            Path(f"{os.fspath(debug_path)}{suffix}").write_text(text, encoding="utf-8")

    def update(self, cpu_update_input: Any) -> None:
        """A method that torch.cuda's class does not have."""

    def register_generator_state(self, state: Any) -> None:
        """Do nothing."""


class graph(StaysOnItsStream):
    def __init__(
        self,
        npu_graph: NPUGraph,
        pool: Any = None,
        stream: Any = None,
        auto_dispatch_capture: bool = False,
        capture_error_mode: str = "global",
    ) -> None:
        super().__init__(npu_graph, stream, {"pool": pool, "capture_error_mode": capture_error_mode})
