"""Calls with handles of nothing, and the last error."""

from __future__ import annotations

from .recorder import Recorder, native, script


@script
def null_and_stale_handles(r: Recorder) -> None:
    for name in (
        "cudaGraphDestroy",
        "cudaGraphGetNodes",
        "cudaGraphGetEdges",
        "cudaGraphExecDestroy",
        "cudaGraphNodeGetType",
        "cudaGraphDestroyNode",
        "cudaGraphClone",
        "cudaGraphExecGetFlags",
        "cudaGraphNodeGetDependencies",
        "cudaGraphChildGraphNodeGetGraph",
        "cudaEventQuery",
        "cudaEventSynchronize",
        "cudaEventDestroy",
        "cudaStreamDestroy",
    ):
        getattr(r, name)(0)
    r.cudaStreamDestroy(1)
    r.cudaStreamDestroy(2)
    r.cudaGraphInstantiate(0, 0)
    r.cudaGraphLaunch(0, 0)
    r.cudaGraphUpload(0, 0)
    r.cudaEventRecord(0, 0)
    r.cudaStreamWaitEvent(0, 0, 0)
    r.cudaGraphAddEmptyNode(0, None, 0)
    r.cudaGraphDebugDotPrint(0, b"/nonexistent/x.dot", 0)
    graph = r.graph()
    executable = r.cudaGraphInstantiate(graph, 0)[1]
    r.cudaGraphDestroy(graph)
    r.cudaGraphExecDestroy(executable)
    r.cudaGraphDestroy(graph)
    r.cudaGraphGetNodes(graph)
    r.cudaGraphInstantiate(graph, 0)
    r.cudaGraphClone(graph)
    r.cudaGraphAddEmptyNode(graph, None, 0)
    r.cudaGraphExecDestroy(executable)
    r.cudaGraphLaunch(executable, 0)
    r.cudaGraphExecGetFlags(executable)


@script
def last_error(r: Recorder) -> None:
    r.cudaGetLastError()
    stream = r.stream()
    r.cudaStreamEndCapture(stream)
    r.cudaPeekAtLastError()
    r.in_thread(r.cudaGetLastError)
    r.cudaGetLastError()
    r.cudaPeekAtLastError()
    r.cudaGetErrorName(native.cudaError_t.cudaErrorMemoryAllocation)
    r.cudaGetErrorString(native.cudaError_t.cudaErrorMemoryAllocation)
