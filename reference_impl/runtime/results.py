"""What calls hand back: handle objects of the bindings, and lists cut or filled to a wanted length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reference_impl.runtime.bindings import cudaGraph_t, cudaGraphEdgeData, cudaGraphNode_t
from reference_impl.runtime.templates import Node, Template


def template_handle(template: Template | None) -> Any:
    """A cudaGraph_t; null for None."""
    return cudaGraph_t(init_value=0 if template is None else template.handle)


def node_handles(nodes: Sequence[Node]) -> list[Any]:
    """A cudaGraphNode_t for each node."""
    return [cudaGraphNode_t(init_value=node.handle) for node in nodes]


def edge_data(number: int) -> list[Any]:
    """Default edge data, the only kind that the model has, for `number` edges."""
    return [cudaGraphEdgeData() for _ in range(number)]


def wanted(nodes: Sequence[Node], number: int) -> tuple[list[Any], int]:
    """`number` handles, null ones behind the last node, and how many are real.

    For `number` 0 none, and how many there are, as CUDA answers a query without a buffer.
    """
    if number <= 0:
        return [], len(nodes)
    handles = node_handles(nodes[:number])
    missing = [cudaGraphNode_t(init_value=0) for _ in range(number - len(handles))]
    return handles + missing, len(handles)
