"""A stand-in for torch.xpu.

What differs from its page:

- the default stream can capture;
- a capture does not follow events to other streams;
- graph stays on its stream when the end of the capture fails.
"""

from __future__ import annotations

import sys
from typing import Any

from standin.device import *
from standin.graphs import OnAnyStream, Shell, StaysOnItsStream, refuse_forks, same
from standin.host import let_the_default_stream_capture, register

from reference_impl.xpu import XPUGraph as _XPUGraph
from reference_impl.xpu import make_graphed_callables

__all__ = ["XPUGraph", "graph", "make_graphed_callables"]


class _Recording(OnAnyStream, _XPUGraph): ...


class XPUGraph(Shell):
    def __init__(self, keep_graph: bool = False) -> None:
        super().__init__(_Recording(keep_graph))

    capture_begin = same(_XPUGraph.capture_begin)
    capture_end = same(_XPUGraph.capture_end)
    instantiate = same(_XPUGraph.instantiate)
    replay = same(_XPUGraph.replay)
    reset = same(_XPUGraph.reset)
    pool = same(_XPUGraph.pool)
    enable_debug_mode = same(_XPUGraph.enable_debug_mode)
    debug_dump = same(_XPUGraph.debug_dump)
    raw_xpu_graph = same(_XPUGraph.raw_xpu_graph)
    raw_xpu_graph_exec = same(_XPUGraph.raw_xpu_graph_exec)


class graph(StaysOnItsStream):
    def __init__(self, xpu_graph: XPUGraph, pool: Any = None, stream: Any = None) -> None:
        super().__init__(xpu_graph, stream, {"pool": pool})


def stand_in() -> None:
    let_the_default_stream_capture()
    refuse_forks()
    register("xpu", sys.modules[__name__])
