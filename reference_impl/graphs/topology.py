"""A template as data: torch.cuda.CUDAGraph.get_graph_data."""

from __future__ import annotations

import re
import warnings
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


def type_name(kind: Any) -> str:
    """The word for a ``cudaGraphNodeType``, such as ``kernel``, ``memcpy``, ``child_graph`` and ``wait_event``."""
    name = kind.name.removeprefix("cudaGraphNodeType")
    return "child_graph" if name == "Graph" else re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def graph_data(device: Device, template: int, executable: int) -> dict[str, Any]:
    """Nodes and edges of `template`, with the ids that profilers report for `executable`.

    Returns:
        ``exec_graph_id``, and ``nodes``: dictionaries of ``index``, ``node_type``, ``tools_id``, ``graph_id``,
        ``node_id``, ``kernel_name`` (``None`` for other nodes), ``dependencies`` and ``dependents`` (indices).

    Warns:
        UserWarning: a node holds a template of its own, whose nodes are not listed.

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
                "node_type": type_name(kind),
                # Of the executable's node, not of the template's: that is what a profiler sees.
                "tools_id": exec_id << _NODE_ID_BITS | node_id,
                "graph_id": exec_id,
                "node_id": node_id,
                "kernel_name": device.kernel_name(node) if is_kernel else None,
                "dependencies": _neighbours(runtime, "cudaGraphNodeGetDependencies", node, index),
                "dependents": _neighbours(runtime, "cudaGraphNodeGetDependentNodes", node, index),
            }
        )
    _warn_of_nested([node["node_type"] for node in described])
    return {"exec_graph_id": exec_id, "nodes": described}


def _warn_of_nested(types: list[str]) -> None:
    nested = [word for word in types if word in ("child_graph", "conditional")]
    if nested:
        warnings.warn(
            f"get_graph_data(): {len(nested)} nodes hold templates of their own ({', '.join(sorted(set(nested)))}), "
            "and the nodes in those are not listed",
            UserWarning,
            stacklevel=4,
        )


def _neighbours(runtime: Any, call: str, node: Any, index: dict[int, int]) -> list[int]:
    query = getattr(runtime, call)
    count = int(check(runtime, call, query(node))[-1])
    if count == 0:
        return []
    return sorted(index[int(other)] for other in check(runtime, call, query(node, count))[0])
