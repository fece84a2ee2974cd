# ruff: noqa: N802, N803 - the names are CUDA's
"""CUDA's calls on executables."""

from __future__ import annotations

from typing import Any

from reference_impl.runtime import captures
from reference_impl.runtime.bindings import (
    cudaError_t,
    cudaGraphExec_t,
    cudaGraphExecUpdateResultInfo,
    cudaGraphInstantiateFlags,
)
from reference_impl.runtime.errors import LOCK, Refusal, Results, api
from reference_impl.runtime.executables import Executable, executables, find_executable
from reference_impl.runtime.parameters import checked_linear_copy, copy_from, fill_from, host_from, kernel_from
from reference_impl.runtime.streams import events, find_stream
from reference_impl.runtime.templates import EventRecord, EventWait, Payload, find_node, find_template

_UPLOAD = int(cudaGraphInstantiateFlags.cudaGraphInstantiateFlagUpload)
_ALL_FLAGS = sum(int(each) for each in cudaGraphInstantiateFlags)


def _instantiate(graph: Any, flags: int) -> Results:
    captures.refuse_unsafe()
    template = find_template(graph)
    if flags & ~_ALL_FLAGS:
        raise Refusal(cudaError_t.cudaErrorInvalidValue)
    return (cudaGraphExec_t(init_value=Executable(template, flags & ~_UPLOAD).handle),)


@api(1)
def cudaGraphInstantiate(graph: Any, flags: int) -> Results:
    """An executable from a template as it is now.  Refuses a cycle, and a flag that needs a stream."""
    if int(flags) & _UPLOAD:
        raise Refusal(cudaError_t.cudaErrorInvalidValue)
    return _instantiate(graph, int(flags))


@api(1)
def cudaGraphInstantiateWithFlags(graph: Any, flags: int) -> Results:
    """The same as `cudaGraphInstantiate`."""
    if int(flags) & _UPLOAD:
        raise Refusal(cudaError_t.cudaErrorInvalidValue)
    return _instantiate(graph, int(flags))


@api(1)
def cudaGraphInstantiateWithParams(graph: Any, instantiateParams: Any) -> Results:
    """An executable with the flags of a cudaGraphInstantiateParams."""
    if instantiateParams is None:
        raise Refusal(cudaError_t.cudaErrorInvalidValue)
    return _instantiate(graph, int(instantiateParams.flags))


@api(1)
def cudaGraphExecGetFlags(graphExec: Any) -> Results:
    """The flags of the instantiation."""
    return (find_executable(graphExec).flags,)


@api(1)
def cudaGraphExecGetId(hGraphExec: Any) -> Results:
    """The executable's number within the process."""
    return (find_executable(hGraphExec).identity,)


@api()
def cudaGraphExecDestroy(graphExec: Any) -> None:
    """Destroy an executable.  Launches of it that are pending still run."""
    captures.refuse_unsafe()
    executables.remove(find_executable(graphExec).handle)


@api()
def cudaGraphUpload(graphExec: Any, stream: Any) -> None:
    """Prepare a launch, which costs nothing here.  Not permitted on a capturing stream."""
    find_executable(graphExec)
    _refuse_capturing(stream)


@api(locked=False)
def cudaGraphLaunch(graphExec: Any, stream: Any) -> None:
    """Run an executable on a stream.  A capturing stream refuses it, and its capture is invalidated."""
    executable = find_executable(graphExec)
    queue = find_stream(stream)
    if captures.live:
        with LOCK:
            _refuse_capturing(queue.handle)
    executable.launch(queue)


def _refuse_capturing(stream: Any) -> None:
    queue = find_stream(stream)
    captures.refuse_implicit(queue)
    if queue.capture is not None:
        queue.capture.invalidate()
        raise Refusal(cudaError_t.cudaErrorStreamCaptureUnsupported)


@api(1)
def cudaGraphExecUpdate(hGraphExec: Any, hGraph: Any) -> Results:
    """Take over the parameters of a template of the same shape.

    As in the bindings the result info only comes with success; cudaErrorGraphExecUpdateFailure, and an executable that
    is unchanged, where nodes, their types or edges differ.
    """
    find_executable(hGraphExec).update(find_template(hGraph))
    return (cudaGraphExecUpdateResultInfo(),)


@api(1)
def cudaGraphNodeGetEnabled(hGraphExec: Any, hNode: Any) -> Results:
    """1 for a kernel, memset or memcpy node that takes part in launches, 0 for a disabled one."""
    return (int(find_executable(hGraphExec).switchable(find_node(hNode)).enabled),)


@api()
def cudaGraphNodeSetEnabled(hGraphExec: Any, hNode: Any, isEnabled: int) -> None:
    """Let a kernel, memset or memcpy node take part in launches, or only order others."""
    find_executable(hGraphExec).set_enabled(find_node(hNode), enabled=bool(isEnabled))


def _set(hGraphExec: Any, node: Any, payload: Payload) -> None:
    find_executable(hGraphExec).set_payload(find_node(node), payload)


@api()
def cudaGraphExecMemsetNodeSetParams(hGraphExec: Any, node: Any, pNodeParams: Any) -> None:
    """Change a memset in an executable; one row stays one row, several stay several."""
    _set(hGraphExec, node, fill_from(pNodeParams))


@api()
def cudaGraphExecMemcpyNodeSetParams(hGraphExec: Any, node: Any, pNodeParams: Any) -> None:
    """Change a memcpy in an executable."""
    _set(hGraphExec, node, copy_from(pNodeParams))


@api()
def cudaGraphExecMemcpyNodeSetParams1D(hGraphExec: Any, node: Any, dst: Any, src: Any, count: int, kind: Any) -> None:
    """Change a memcpy in an executable to `count` bytes in a row."""
    _set(hGraphExec, node, checked_linear_copy(dst, src, count, kind))


@api()
def cudaGraphExecHostNodeSetParams(hGraphExec: Any, node: Any, pNodeParams: Any) -> None:
    """Change a host call in an executable."""
    _set(hGraphExec, node, host_from(pNodeParams))


@api()
def cudaGraphExecKernelNodeSetParams(hGraphExec: Any, node: Any, pNodeParams: Any) -> None:
    """Let a kernel node of an executable launch the kernel of another node."""
    _set(hGraphExec, node, kernel_from(pNodeParams))


@api()
def cudaGraphExecChildGraphNodeSetParams(hGraphExec: Any, node: Any, childGraph: Any) -> None:
    """Give a child graph node of an executable the parameters of a template of the same shape."""
    find_executable(hGraphExec).set_child(find_node(node), find_template(childGraph))


@api()
def cudaGraphExecEventRecordNodeSetEvent(hGraphExec: Any, hNode: Any, event: Any) -> None:
    """Let a node of an executable record another event."""
    mark = events.find(event)
    if mark is None:
        raise Refusal(cudaError_t.cudaErrorInvalidValue)
    _set(hGraphExec, hNode, EventRecord(mark))


@api()
def cudaGraphExecEventWaitNodeSetEvent(hGraphExec: Any, hNode: Any, event: Any) -> None:
    """Let a node of an executable wait for another event."""
    mark = events.find(event)
    if mark is None:
        raise Refusal(cudaError_t.cudaErrorInvalidValue)
    _set(hGraphExec, hNode, EventWait(mark))
