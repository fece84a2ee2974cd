"""The documented names of torch.xpu: XPUGraph, its context manager, and the functions around them."""

from __future__ import annotations

from typing import Any

from reference_impl.devices import namespace
from reference_impl.devices.namespace import *  # noqa: F403  # a device module has all of these names
from reference_impl.graphs.context import CaptureContext
from reference_impl.graphs.graphed_callables import make_graphed_callables as _make_graphed_callables
from reference_impl.graphs.xpu_graph import XPUGraph

__all__ = ["XPUGraph", "graph", "make_graphed_callables", *namespace.__all__]  # noqa: PLE0604  # they are strings


class graph(CaptureContext):  # noqa: N801  # the documented name
    """Capture the work of a ``with`` block into a graph.  Implements torch.xpu.graph.

    Args:
        xpu_graph: the graph to capture into.
        pool: memory pool token to share, as for ``capture_begin``.
        stream: the stream to capture on; by default a side stream of this class's own.
    """

    def __init__(self, xpu_graph: Any, pool: Any = None, stream: Any = None) -> None:
        super().__init__(xpu_graph, stream, {"pool": pool})
        self.xpu_graph = xpu_graph


def make_graphed_callables(
    callables: Any,
    sample_args: Any,
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,
    pool: Any = None,
) -> Any:
    """See `reference_impl.graphs.graphed_callables.make_graphed_callables`."""
    return _make_graphed_callables(callables, sample_args, num_warmup_iters, allow_unused_input, pool)
