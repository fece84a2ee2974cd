# ruff: noqa: N802, N803 - the names are CUDA's
"""CUDA's calls on whole templates and on the edges between nodes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reference_impl.runtime import dot
from reference_impl.runtime.bindings import cudaError_t, cudaGraphNode_t
from reference_impl.runtime.errors import Refusal, Results, api
from reference_impl.runtime.results import edge_data, template_handle, wanted
from reference_impl.runtime.templates import (
    Child,
    Node,
    Template,
    find_node,
    find_nodes,
    find_template,
    require_default_edges,
)


@api(1)
def cudaGraphCreate(flags: int) -> Results:
    """An empty template; `flags` must be 0."""
    if flags:
        raise Refusal(cudaError_t.cudaErrorInvalidValue)
    return (template_handle(Template()),)


@api()
def cudaGraphDestroy(graph: Any) -> None:
    """Destroy a template and its nodes; executables made from it stay."""
    template = find_template(graph)
    if template.capturing:
        raise Refusal(cudaError_t.cudaErrorIllegalState)
    if template.embedded:
        raise Refusal(cudaError_t.cudaErrorInvalidValue)
    template.destroy()


@api(1)
def cudaGraphClone(originalGraph: Any) -> Results:
    """An independent copy, child graphs included."""
    return (template_handle(find_template(originalGraph).clone()),)


@api(1)
def cudaGraphNodeFindInClone(originalNode: Any, clonedGraph: Any) -> Results:
    """The node of a clone, or of a child graph, that was copied from a node."""
    twin = find_template(clonedGraph).find_clone(find_node(originalNode))
    if twin is None:
        raise Refusal(cudaError_t.cudaErrorInvalidValue)
    return (cudaGraphNode_t(init_value=twin.handle),)


@api(2)
def cudaGraphGetNodes(graph: Any, numNodes: int = 0) -> Results:
    """Up to `numNodes` nodes in order of creation, and how many; for 0 only how many."""
    return wanted(list(find_template(graph).nodes.values()), numNodes)


@api(2)
def cudaGraphGetRootNodes(graph: Any, pNumRootNodes: int = 0) -> Results:
    """The nodes without dependencies, counted as `cudaGraphGetNodes` counts."""
    return wanted(find_template(graph).roots(), pNumRootNodes)


@api(4)
def cudaGraphGetEdges(graph: Any, numEdges: int = 0) -> Results:
    """Where edges start, where they end, their data, and how many there are."""
    edges = find_template(graph).edges()
    starts, number = wanted([start for start, _ in edges], numEdges)
    ends, _ = wanted([end for _, end in edges], numEdges)
    return (starts, ends, edge_data(len(starts)), number)


@api(3)
def cudaGraphNodeGetDependencies(node: Any, pNumDependencies: int = 0) -> Results:
    """The nodes that a node waits for, edge data, and how many."""
    nodes, number = wanted(list(find_node(node).dependencies), pNumDependencies)
    return (nodes, edge_data(len(nodes)), number)


@api(3)
def cudaGraphNodeGetDependentNodes(node: Any, pNumDependentNodes: int = 0) -> Results:
    """The nodes that wait for a node, edge data, and how many."""
    nodes, number = wanted(list(find_node(node).dependents), pNumDependentNodes)
    return (nodes, edge_data(len(nodes)), number)


def _edges(
    graph: Any, from_: Sequence[Any] | None, to: Sequence[Any] | None, number: int
) -> tuple[Template, list[tuple[Node, Node]]]:
    template = find_template(graph)
    starts, ends = find_nodes(from_, number), find_nodes(to, number)
    return template, list(zip(starts, ends, strict=True))


@api()
def cudaGraphAddDependencies(
    graph: Any,
    from_: Sequence[Any] | None,
    to: Sequence[Any] | None,
    edgeData: Sequence[Any] | None,
    numDependencies: int,
) -> None:
    """Add edges one after the other; those before one that cannot be stay.  Instantiation refuses a cycle."""
    require_default_edges(edgeData)
    template, edges = _edges(graph, from_, to, numDependencies)
    template.connect(edges)


@api()
def cudaGraphRemoveDependencies(
    graph: Any,
    from_: Sequence[Any] | None,
    to: Sequence[Any] | None,
    edgeData: Sequence[Any] | None,
    numDependencies: int,
) -> None:
    """Remove edges one after the other; those before an edge that is not there stay removed."""
    require_default_edges(edgeData)
    template, edges = _edges(graph, from_, to, numDependencies)
    template.disconnect(edges)


@api()
def cudaGraphDestroyNode(node: Any) -> None:
    """Remove a node with its edges; not while its template is captured into."""
    member = find_node(node)
    if member.template.capturing:
        raise Refusal(cudaError_t.cudaErrorIllegalState)
    member.template.remove(member)


@api(1)
def cudaGraphNodeGetType(node: Any) -> Results:
    """The cudaGraphNodeType."""
    return (find_node(node).type,)


@api(1)
def cudaGraphNodeGetContainingGraph(hNode: Any) -> Results:
    """The template that holds a node."""
    return (template_handle(find_node(hNode).template),)


@api(1)
def cudaGraphNodeGetLocalId(hNode: Any) -> Results:
    """The node's number within its template, counted from 0 and never reused there."""
    return (find_node(hNode).local_id,)


@api(1)
def cudaGraphNodeGetToolsId(hNode: Any) -> Results:
    """The node's number within the process: its template's id above its local id."""
    node = find_node(hNode)
    return (node.template.identity << 32 | node.local_id,)


@api(1)
def cudaGraphGetId(hGraph: Any) -> Results:
    """The template's number within the process."""
    return (find_template(hGraph).identity,)


@api(1)
def cudaGraphChildGraphNodeGetGraph(node: Any) -> Results:
    """The template inside a child graph node, which may be edited but not destroyed."""
    payload = find_node(node).payload
    if not isinstance(payload, Child):
        raise Refusal(cudaError_t.cudaErrorInvalidValue)
    return (template_handle(payload.template),)


@api()
def cudaGraphDebugDotPrint(graph: Any, path: bytes, flags: int) -> None:
    """Write a template as a dot file; cudaErrorOperatingSystem where that cannot be done."""
    text = dot.render(find_template(graph), int(flags))
    try:
        Path(os.fsdecode(path)).write_text(text, encoding="utf-8")
    except OSError:
        raise Refusal(cudaError_t.cudaErrorOperatingSystem) from None
