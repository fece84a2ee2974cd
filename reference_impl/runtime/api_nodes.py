# ruff: noqa: N802, N803 - the names are CUDA's
"""CUDA's calls to add nodes to a template and to read and change their parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from reference_impl.runtime.bindings import cudaError_t, cudaEvent_t, cudaGraphNode_t
from reference_impl.runtime.errors import Refusal, Results, api
from reference_impl.runtime.kernels import KernelCall
from reference_impl.runtime.memory import Copy, Fill
from reference_impl.runtime.parameters import (
    checked_linear_copy,
    copy_from,
    copy_params,
    fill_from,
    fill_params,
    host_from,
    host_params,
    kernel_from,
    kernel_params,
)
from reference_impl.runtime.streams import Event, events
from reference_impl.runtime.templates import (
    Child,
    Empty,
    EventRecord,
    EventWait,
    HostCall,
    Node,
    Payload,
    find_node,
    find_nodes,
    find_template,
)

Nodes = Sequence[Any] | None
P = TypeVar("P")


def _add(graph: Any, dependencies: Nodes, number: int, payload: Payload) -> Results:
    node = find_template(graph).add(payload, find_nodes(dependencies, number))
    return (cudaGraphNode_t(init_value=node.handle),)


def _typed(node: Any, kind: type[P]) -> tuple[Node, P]:
    """A node with its payload.  Refuses a node of another type with cudaErrorInvalidValue."""
    member = find_node(node)
    if not isinstance(member.payload, kind):
        raise Refusal(cudaError_t.cudaErrorInvalidValue)
    return member, member.payload


def _event(handle: Any) -> Event:
    event = events.find(handle)
    if event is None:
        raise Refusal(cudaError_t.cudaErrorInvalidValue)
    return event


@api(1)
def cudaGraphAddEmptyNode(graph: Any, pDependencies: Nodes, numDependencies: int) -> Results:
    """Add a node that only orders others."""
    return _add(graph, pDependencies, numDependencies, Empty())


@api(1)
def cudaGraphAddMemsetNode(graph: Any, pDependencies: Nodes, numDependencies: int, pMemsetParams: Any) -> Results:
    """Add a memset over known memory."""
    return _add(graph, pDependencies, numDependencies, fill_from(pMemsetParams))


@api(1)
def cudaGraphMemsetNodeGetParams(node: Any) -> Results:
    """The cudaMemsetParams of a memset node."""
    return (fill_params(_typed(node, Fill)[1]),)


@api()
def cudaGraphMemsetNodeSetParams(node: Any, pNodeParams: Any) -> None:
    """Change a memset node of a template."""
    member, _ = _typed(node, Fill)
    member.payload = fill_from(pNodeParams)


@api(1)
def cudaGraphAddMemcpyNode(graph: Any, pDependencies: Nodes, numDependencies: int, pCopyParams: Any) -> Results:
    """Add a memcpy of rows and slices between known memory."""
    return _add(graph, pDependencies, numDependencies, copy_from(pCopyParams))


@api(1)
def cudaGraphAddMemcpyNode1D(
    graph: Any, pDependencies: Nodes, numDependencies: int, dst: Any, src: Any, count: int, kind: Any
) -> Results:
    """Add a memcpy of `count` bytes between known memory."""
    return _add(graph, pDependencies, numDependencies, checked_linear_copy(dst, src, count, kind))


@api(1)
def cudaGraphMemcpyNodeGetParams(node: Any) -> Results:
    """The cudaMemcpy3DParms of a memcpy node."""
    return (copy_params(_typed(node, Copy)[1]),)


@api()
def cudaGraphMemcpyNodeSetParams(node: Any, pNodeParams: Any) -> None:
    """Change a memcpy node of a template."""
    member, _ = _typed(node, Copy)
    member.payload = copy_from(pNodeParams)


@api()
def cudaGraphMemcpyNodeSetParams1D(node: Any, dst: Any, src: Any, count: int, kind: Any) -> None:
    """Change a memcpy node of a template to `count` bytes in a row."""
    member, _ = _typed(node, Copy)
    member.payload = checked_linear_copy(dst, src, count, kind)


@api(1)
def cudaGraphAddHostNode(graph: Any, pDependencies: Nodes, numDependencies: int, pNodeParams: Any) -> Results:
    """Add a call of a C function."""
    return _add(graph, pDependencies, numDependencies, host_from(pNodeParams))


@api(1)
def cudaGraphHostNodeGetParams(node: Any) -> Results:
    """The cudaHostNodeParams of a host node."""
    return (host_params(_typed(node, HostCall)[1]),)


@api()
def cudaGraphHostNodeSetParams(node: Any, pNodeParams: Any) -> None:
    """Change a host node of a template."""
    member, _ = _typed(node, HostCall)
    member.payload = host_from(pNodeParams)


@api(1)
def cudaGraphAddKernelNode(graph: Any, pDependencies: Nodes, numDependencies: int, pNodeParams: Any) -> Results:
    """Add a kernel, named by the `func` that a live kernel node reports."""
    return _add(graph, pDependencies, numDependencies, kernel_from(pNodeParams))


@api(1)
def cudaGraphKernelNodeGetParams(node: Any) -> Results:
    """The cudaKernelNodeParams of a kernel node."""
    return (kernel_params(_typed(node, KernelCall)[1]),)


@api()
def cudaGraphKernelNodeSetParams(node: Any, pNodeParams: Any) -> None:
    """Let a kernel node of a template launch the kernel of another."""
    member, _ = _typed(node, KernelCall)
    member.payload = kernel_from(pNodeParams)


@api(1)
def cudaGraphAddChildGraphNode(graph: Any, pDependencies: Nodes, numDependencies: int, childGraph: Any) -> Results:
    """Add a copy of a template as one node."""
    template, child = find_template(graph), find_template(childGraph)
    if template is child:
        raise Refusal(cudaError_t.cudaErrorInvalidValue)
    copy = child.clone(embedded=True)
    try:
        return _add(graph, pDependencies, numDependencies, Child(copy))
    except Refusal:
        copy.destroy()
        raise


@api(1)
def cudaGraphAddEventRecordNode(graph: Any, pDependencies: Nodes, numDependencies: int, event: Any) -> Results:
    """Add the recording of an event."""
    return _add(graph, pDependencies, numDependencies, EventRecord(_event(event)))


@api(1)
def cudaGraphAddEventWaitNode(graph: Any, pDependencies: Nodes, numDependencies: int, event: Any) -> Results:
    """Add a wait for an event."""
    return _add(graph, pDependencies, numDependencies, EventWait(_event(event)))


@api(1)
def cudaGraphEventRecordNodeGetEvent(node: Any) -> Results:
    """The event that a node records."""
    return (cudaEvent_t(init_value=_typed(node, EventRecord)[1].event.handle),)


@api()
def cudaGraphEventRecordNodeSetEvent(node: Any, event: Any) -> None:
    """Let a node of a template record another event."""
    member, _ = _typed(node, EventRecord)
    member.payload = EventRecord(_event(event))


@api(1)
def cudaGraphEventWaitNodeGetEvent(node: Any) -> Results:
    """The event that a node waits for."""
    return (cudaEvent_t(init_value=_typed(node, EventWait)[1].event.handle),)


@api()
def cudaGraphEventWaitNodeSetEvent(node: Any, event: Any) -> None:
    """Let a node of a template wait for another event."""
    member, _ = _typed(node, EventWait)
    member.payload = EventWait(_event(event))
