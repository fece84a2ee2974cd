"""A stand-in for torch.mtia.

What differs from torch.xpu's page:

- capture_begin needs a pool; (0, 0) asks for a new one;
- the default stream can capture, and graph takes the stream that is current at its first use;
- graph stays on its stream when the end of the capture fails;
- no debug mode, no raw handles, no graphed callables, and nothing that tells whether a stream captures.
"""

from __future__ import annotations

import sys
from typing import Any

from standin import device
from standin.device import *
from standin.graphs import OnAnyStream, Shell, StaysOnItsStream, same
from standin.host import let_the_default_stream_capture, register

from reference_impl.xpu import XPUGraph as _XPUGraph

__all__ = ["MTIAGraph", "graph"]

_NO_POOL = (0, 0)


class _Recording(OnAnyStream, _XPUGraph): ...


class MTIAGraph(Shell):
    def __init__(self, keep_graph: bool = False) -> None:
        super().__init__(_Recording(keep_graph))

    def capture_begin(self, pool: Any) -> None:
        self._inner.capture_begin(None if pool == _NO_POOL else pool)

    capture_end = same(_XPUGraph.capture_end)
    instantiate = same(_XPUGraph.instantiate)
    replay = same(_XPUGraph.replay)
    reset = same(_XPUGraph.reset)
    pool = same(_XPUGraph.pool)


class graph(StaysOnItsStream):
    def __init__(self, mtia_graph: MTIAGraph, pool: Any = None, stream: Any = None) -> None:
        if graph.default_capture_stream is None:
            graph.default_capture_stream = device.current_stream()
        super().__init__(mtia_graph, stream, {"pool": _NO_POOL if pool is None else pool})


def stand_in() -> None:
    let_the_default_stream_capture()
    register("mtia", sys.modules[__name__], lacks=("is_current_stream_capturing",))
