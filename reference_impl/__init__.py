"""A reference implementation of the documented graph classes, on a GPU or on a laptop.

The names here are those of ``torch.cuda``: ``CUDAGraph``, ``graph``, ``graph_pool_handle``, streams, events and memory
statistics, of the device that `use_device` chose (the software device unless it says otherwise).
`reference_impl.xpu` and `reference_impl.accelerator` are the same for the other documented classes.
"""

from __future__ import annotations

from reference_impl.devices.chosen import use_device
from reference_impl.devices.namespace import (
    Event,
    MemPool,
    Stream,
    cudart,
    current_stream,
    default_stream,
    empty,
    empty_cache,
    graph_pool_handle,
    is_current_stream_capturing,
    manual_seed,
    memory_allocated,
    memory_reserved,
    memory_snapshot,
    memory_stats,
    pinned,
    read,
    session,
    set_stream,
    stream,
    synchronize,
    tensor,
)
from reference_impl.errors import DeviceError, GraphError, HostReadInCapture
from reference_impl.graphs.context import graph
from reference_impl.graphs.cuda_graph import CUDAGraph
from reference_impl.graphs.exporting import export_dot, export_graph_data
from reference_impl.graphs.graphed_callables import make_graphed_callables
from reference_impl.graphs.hooks import (
    register_graph_capture_end_hook,
    register_graph_capture_start_hook,
    register_graph_destroy_hook,
    register_graph_instantiate_hook,
    register_graph_replay_end_hook,
    register_graph_replay_start_hook,
)

__all__ = [
    "CUDAGraph",
    "DeviceError",
    "Event",
    "GraphError",
    "HostReadInCapture",
    "MemPool",
    "Stream",
    "cudart",
    "current_stream",
    "default_stream",
    "empty",
    "empty_cache",
    "export_dot",
    "export_graph_data",
    "graph",
    "graph_pool_handle",
    "is_current_stream_capturing",
    "make_graphed_callables",
    "manual_seed",
    "memory_allocated",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "pinned",
    "read",
    "register_graph_capture_end_hook",
    "register_graph_capture_start_hook",
    "register_graph_destroy_hook",
    "register_graph_instantiate_hook",
    "register_graph_replay_end_hook",
    "register_graph_replay_start_hook",
    "session",
    "set_stream",
    "stream",
    "synchronize",
    "tensor",
    "use_device",
]
