"""A template as data: torch.cuda.CUDAGraph.get_graph_data."""

from __future__ import annotations

from typing import Any

from reference_impl.devices.protocol import Device
from reference_impl.errors import check

_NODE_ID_BITS = 32


def nodes_of(runtime: Any, template: int) -> list[Any]:
    """The template's nodes, in order of creation."""
    count = int(check(runtime, "cudaGraphGetNodes", runtime.cudaGraphGetNodes(template))[1])
    if count == 0:
        return []
    return list(check(runtime, "cudaGraphGetNodes", runtime.cudaGraphGetNodes(template, count))[0])


def graph_data(device: Device, template: int, executable: int) -> dict[str, Any]:
    """Nodes and edges of `template`, with the ids that profilers report for `executable`.

    Returns:
        ``exec_graph_id``, and ``nodes``: dictionaries of ``index``, ``node_type``, ``tools_id``, ``graph_id``,
        ``node_id``, ``kernel_name`` (``None`` for other nodes), ``dependencies`` and ``dependents`` (indices).

    Raises:
        DeviceError: the runtime refused a query.
    """
    runtime = device.runtime
    exec_id = int(check(runtime, "cudaGraphExecGetId", runtime.cudaGraphExecGetId(executable)))
    nodes = nodes_of(runtime, template)
    index = {int(node): position for position, node in enumerate(nodes)}
    described: list[dict[str, Any]] = []
    for position, node in enumerate(nodes):
        kind = check(runtime, "cudaGraphNodeGetType", runtime.cudaGraphNodeGetType(node))
        node_id = int(check(runtime, "cudaGraphNodeGetLocalId", runtime.cudaGraphNodeGetLocalId(node)))
        is_kernel = kind == runtime.cudaGraphNodeType.cudaGraphNodeTypeKernel
        described.append(
            {
                "index": position,
                "node_type": kind.name.removeprefix("cudaGraphNodeType"),
                # Of the executable's node, not of the template's: that is what a profiler sees.
                "tools_id": exec_id << _NODE_ID_BITS | node_id,
                "graph_id": exec_id,
                "node_id": node_id,
                "kernel_name": device.kernel_name(node) if is_kernel else None,
                "dependencies": _neighbours(runtime, "cudaGraphNodeGetDependencies", node, index),
                "dependents": _neighbours(runtime, "cudaGraphNodeGetDependentNodes", node, index),
            }
        )
    return {"exec_graph_id": exec_id, "nodes": described}


def _neighbours(runtime: Any, call: str, node: Any, index: dict[int, int]) -> list[int]:
    query = getattr(runtime, call)
    count = int(check(runtime, call, query(node))[-1])
    if count == 0:
        return []
    return sorted(index[int(other)] for other in check(runtime, call, query(node, count))[0])
