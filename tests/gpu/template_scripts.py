"""Calls on templates, their nodes, executables and what these keep alive."""

from __future__ import annotations

import ctypes
import time
from typing import Any

from .recorder import COPY, Recorder, native, script


@script
def editing(r: Recorder) -> None:
    graph, other = r.graph(), r.graph()
    first, second, foreign = r.empty(graph), r.empty(graph), r.empty(other)
    third = r.empty(graph, first, second)

    def add(*edges: tuple[Any, Any]) -> None:
        r.cudaGraphAddDependencies(graph, [a for a, _ in edges], [b for _, b in edges], None, len(edges))
        r.cudaGraphGetEdges(graph, 9)

    def remove(*edges: tuple[Any, Any]) -> None:
        r.cudaGraphRemoveDependencies(graph, [a for a, _ in edges], [b for _, b in edges], None, len(edges))
        r.cudaGraphGetEdges(graph, 9)

    add((first, third))
    add((first, first))
    add((first, foreign))
    add((foreign, first))
    add((first, second), (first, second))
    add((third, first))
    r.cudaGraphInstantiate(graph, 0)
    remove((third, first))
    remove((first, second))
    remove((first, foreign))
    remove((first, third), (third, second))
    r.cudaGraphInstantiate(graph, 0)
    r.cudaGraphAddDependencies(graph, None, None, None, 0)
    r.cudaGraphAddEmptyNode(graph, [foreign], 1)
    r.cudaGraphAddEmptyNode(graph, [first, first], 2)
    r.cudaGraphAddEmptyNode(graph, [native.cudaGraphNode_t(init_value=0)], 1)
    r.cudaGraphDestroyNode(second)
    r.cudaGraphGetNodes(graph, 9)
    r.cudaGraphGetEdges(graph, 9)
    r.empty(graph)
    r.cudaGraphGetNodes(graph, 9)
    child = r.cudaGraphAddChildGraphNode(graph, None, 0, other)[1]
    inside = r.cudaGraphChildGraphNodeGetGraph(child)[1]
    r.cudaGraphNodeFindInClone(foreign, inside)
    r.empty(inside)
    r.cudaGraphGetNodes(inside, 3)
    r.cudaGraphGetNodes(other, 3)
    r.cudaGraphDestroy(inside)
    r.cudaGraphAddHostNode(graph, None, 0, native.cudaHostNodeParams())


@script
def clones(r: Recorder) -> None:
    graph, other = r.graph(), r.graph()
    first, foreign = r.empty(graph), r.empty(other)
    second = r.empty(graph, first)
    clone = r.cudaGraphClone(graph)[1]
    twin = r.cudaGraphNodeFindInClone(second, clone)[1]
    r.cudaGraphNodeGetDependencies(twin, 2)
    r.cudaGraphNodeFindInClone(foreign, clone)
    r.cudaGraphNodeFindInClone(second, graph)
    again = r.cudaGraphClone(clone)[1]
    r.cudaGraphNodeFindInClone(second, again)
    r.cudaGraphNodeFindInClone(twin, again)
    r.cudaGraphDestroyNode(twin)
    r.cudaGraphNodeFindInClone(second, clone)
    r.cudaGraphGetNodes(graph, 3)
    r.cudaGraphDestroy(graph)
    r.cudaGraphGetNodes(clone, 3)


@script
def memory_nodes(r: Recorder) -> None:
    buffer, graph = r.cudaMalloc(4096)[1], r.graph()
    for params in (
        r.fill(buffer, size=3),
        r.fill(buffer, width=0),
        r.fill(buffer, height=0),
        r.fill(buffer, height=2, pitch=8),
        r.fill(buffer, width=4, height=3, size=4, pitch=64),
        r.fill(0),
        r.fill(buffer, width=1 << 40),
        r.fill(buffer + 1, size=4),
        r.fill(buffer, value=0x1FF),
    ):
        node = r.memset(graph, params)
        if node is not None:
            r.cudaGraphMemsetNodeGetParams(node)
            r.cudaGraphMemcpyNodeGetParams(node)
            r.cudaGraphHostNodeGetParams(node)
            r.cudaGraphChildGraphNodeGetGraph(node)
    for size in (0, 16, 1 << 40):
        copy = r.cudaGraphAddMemcpyNode1D(graph, None, 0, buffer, buffer + 64, size, COPY)[1]
        if copy is not None:
            r.cudaGraphMemcpyNodeGetParams(copy)
            r.cudaGraphMemsetNodeGetParams(copy)
    r.cudaGraphAddMemcpyNode(graph, None, 0, native.cudaMemcpy3DParms())
    event = r.event()
    record = r.cudaGraphAddEventRecordNode(graph, None, 0, event)[1]
    r.cudaGraphAddEventRecordNode(graph, None, 0, 0)
    wait = r.cudaGraphAddEventWaitNode(graph, None, 0, event)[1]
    r.cudaGraphEventRecordNodeGetEvent(record)
    r.cudaGraphEventWaitNodeGetEvent(record)
    r.cudaGraphEventWaitNodeSetEvent(wait, r.event())
    executable = r.cudaGraphInstantiate(graph, 0)[1]
    r.cudaGraphNodeGetEnabled(executable, wait)
    r.cudaGraphExecEventWaitNodeSetEvent(executable, wait, r.event())
    r.cudaGraphLaunch(executable, 0)
    r.cudaDeviceSynchronize()


@script
def memory_calls(r: Recorder) -> None:
    stream, buffer = r.stream(), r.cudaMalloc(256)[1]
    r.cudaMemset(buffer, 0x1FF, 16)
    r.cudaMemset(buffer, -1, 16)
    r.cudaMemset(0, 0, 16)
    r.cudaMemset(0, 0, 0)
    r.cudaMemset(buffer, 0, 0)
    r.cudaMemset2D(buffer, 64, 1, 16, 2)
    r.cudaMemset2D(buffer, 8, 1, 16, 2)
    r.cudaMemsetAsync(buffer, 1, 1 << 40, stream)
    r.cudaMemcpy(buffer, buffer + 64, 0, COPY)
    r.cudaMemcpy(0, 0, 0, COPY)
    r.cudaMemcpy(0, buffer, 4, COPY)
    r.cudaMalloc(0)
    r.cudaMalloc(1 << 50)
    r.cudaPeekAtLastError()
    r.cudaGetLastError()
    r.cudaGetLastError()
    r.cudaFree(0x1234000)
    r.cudaFree(buffer + 64)
    r.cudaFree(buffer)
    r.cudaFree(buffer)
    later = r.cudaMallocAsync(64, stream)[1]
    r.cudaFreeAsync(later, stream)
    r.cudaFreeAsync(later, stream)
    r.cudaFreeAsync(0, stream)
    r.cudaMallocAsync(0, stream)
    host = (ctypes.c_char * 8192)()
    r.keep.append(host)
    address = ctypes.addressof(host)
    r.cudaHostRegister(address, 8192, 0)
    r.cudaHostRegister(address, 8192, 0)
    r.cudaHostUnregister(address)
    r.cudaHostUnregister(address)
    r.cudaHostRegister(address, 0, 0)
    r.cudaHostRegister(0, 8, 0)


@script
def executables(r: Recorder) -> None:
    buffer, graph, other = r.cudaMalloc(4096)[1], r.graph(), r.graph()
    node, empty = r.memset(graph, r.fill(buffer)), r.empty(graph)
    foreign = r.memset(other, r.fill(buffer))
    executable = r.cudaGraphInstantiate(graph, 0)[1]
    r.cudaGraphExecMemsetNodeSetParams(executable, node, r.fill(buffer, 9))
    r.cudaGraphExecMemsetNodeSetParams(executable, node, r.fill(buffer, 9, width=32))
    r.cudaGraphExecMemsetNodeSetParams(executable, node, r.fill(buffer, 9, width=4, height=2, pitch=64))
    r.cudaGraphExecMemsetNodeSetParams(executable, foreign, r.fill(buffer, 9))
    r.cudaGraphExecMemsetNodeSetParams(executable, empty, r.fill(buffer, 9))
    r.cudaGraphNodeGetEnabled(executable, node)
    r.cudaGraphNodeSetEnabled(executable, node, 0)
    r.cudaGraphNodeGetEnabled(executable, node)
    r.cudaGraphNodeGetEnabled(executable, empty)
    r.cudaGraphNodeSetEnabled(executable, empty, 0)
    r.cudaGraphNodeGetEnabled(executable, foreign)
    r.cudaGraphMemsetNodeSetParams(node, r.fill(buffer, 3, width=64))
    r.cudaGraphMemsetNodeGetParams(node)
    r.cudaGraphMemsetNodeSetParams(node, r.fill(buffer, size=3))
    r.cudaGraphMemsetNodeSetParams(empty, r.fill(buffer))
    r.cudaGraphLaunch(executable, 0)
    r.cudaGraphDestroyNode(node)
    r.cudaGraphLaunch(executable, 0)
    r.cudaGraphDestroy(graph)
    r.cudaGraphLaunch(executable, 0)
    r.cudaGraphUpload(executable, 0)
    r.cudaDeviceSynchronize()
    r.cudaGraphExecDestroy(executable)


@script
def child_graphs(r: Recorder) -> None:
    buffer, graph, child = r.cudaMalloc(4096)[1], r.graph(), r.graph()
    original = r.memset(child, r.fill(buffer))
    node = r.cudaGraphAddChildGraphNode(graph, None, 0, child)[1]
    copy = r.cudaGraphAddMemcpyNode1D(graph, None, 0, buffer + 512, buffer + 1024, 16, COPY)[1]
    executable = r.cudaGraphInstantiate(graph, 0)[1]
    r.cudaGraphNodeGetEnabled(executable, node)
    r.cudaGraphNodeGetEnabled(executable, copy)
    other = r.cudaGraphClone(child)[1]
    r.cudaGraphExecChildGraphNodeSetParams(executable, node, other)
    r.empty(other)
    r.cudaGraphExecChildGraphNodeSetParams(executable, node, other)
    r.cudaGraphExecMemcpyNodeSetParams1D(executable, copy, buffer + 512, buffer + 1024, 32, COPY)
    r.cudaGraphMemcpyNodeSetParams1D(copy, buffer, buffer + 128, 0, COPY)
    r.cudaGraphMemcpyNodeSetParams1D(copy, buffer, buffer + 128, 8, COPY)
    inner = r.cudaGraphGetNodes(r.cudaGraphChildGraphNodeGetGraph(node)[1], 1)[1][0]
    r.cudaGraphExecMemsetNodeSetParams(executable, inner, r.fill(buffer, 5))
    r.cudaGraphNodeSetEnabled(executable, inner, 0)
    r.cudaGraphExecMemsetNodeSetParams(executable, original, r.fill(buffer, 5))
    r.cudaGraphMemsetNodeSetParams(node, r.fill(buffer))
    clone = r.cudaGraphClone(graph)[1]
    r.cudaGraphExecUpdate(executable, clone)
    twin = r.cudaGraphNodeFindInClone(copy, clone)[1]
    r.cudaGraphExecMemcpyNodeSetParams1D(executable, twin, buffer + 512, buffer + 1024, 32, COPY)
    r.cudaGraphLaunch(executable, 0)
    r.cudaDeviceSynchronize()


@script
def updates(r: Recorder) -> None:
    buffer = r.cudaMalloc(4096)[1]

    def make(change: str) -> Any:
        graph = r.graph()
        width, height, pitch = (4, 2, 64) if change == "rows" else (32 if change == "width" else 16, 1, 0)
        first = r.memset(graph, r.fill(buffer, 2 if change == "value" else 1, width, height, pitch=pitch))
        if change == "type":
            r.empty(graph, first)
        elif change != "less":
            r.memset(graph, r.fill(buffer), *([] if change == "edge" else [first]))
        if change == "more":
            r.empty(graph)
        return graph

    for change in ("same", "value", "width", "rows", "type", "less", "more", "edge"):
        executable = r.cudaGraphInstantiate(make("same"), 0)[1]
        r.cudaGraphExecUpdate(executable, make(change))
        r.cudaGraphLaunch(executable, 0)
    r.cudaGraphExecUpdate(0, make("same"))
    r.cudaGraphExecUpdate(executable, 0)
    r.cudaDeviceSynchronize()
    graphs = [r.graph(), r.graph()]
    r.memset(graphs[0], r.fill(buffer))
    r.empty(graphs[0])
    r.empty(graphs[1])
    r.memset(graphs[1], r.fill(buffer))
    executable = r.cudaGraphInstantiate(graphs[0], 0)[1]
    r.cudaGraphExecUpdate(executable, graphs[1])


@script
def user_objects(r: Recorder) -> None:
    destroyed: list[int] = []
    note = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(destroyed.append)
    r.keep.append(note)
    destroy = native.cudaHostFn_t(init_value=ctypes.cast(note, ctypes.c_void_p).value)
    no_sync = int(native.cudaUserObjectFlags.cudaUserObjectNoDestructorSync)
    move = int(native.cudaUserObjectRetainFlags.cudaGraphUserObjectMove)

    def seen() -> None:
        time.sleep(0.1)  # CUDA calls from a thread of its own
        r.log.append(f"destroyed: {destroyed}")

    def make(number: int, references: int = 1) -> Any:
        return r.cudaUserObjectCreate(number, destroy, references, no_sync)[1]

    r.cudaUserObjectCreate(1, destroy, 1, 0)
    r.cudaUserObjectCreate(1, destroy, 0, no_sync)
    item = make(1, 2)
    for count in (0, 1):
        r.cudaUserObjectRetain(item, count)
        r.cudaUserObjectRelease(item, count)
    r.cudaUserObjectRelease(item, 2)
    seen()
    graph = r.graph()
    item = make(2)
    r.cudaGraphRetainUserObject(graph, item, 0, 0)
    r.cudaGraphRetainUserObject(graph, item, 1, 2)
    r.cudaGraphRetainUserObject(graph, item, 2, 0)
    r.cudaUserObjectRelease(item, 1)
    r.cudaGraphReleaseUserObject(graph, item, 0)
    r.cudaGraphReleaseUserObject(graph, item, 1)
    seen()
    r.cudaGraphReleaseUserObject(graph, item, 1)
    seen()
    r.cudaGraphRetainUserObject(graph, make(3), 1, move)
    executable, clone, child = r.cudaGraphInstantiate(graph, 0)[1], r.cudaGraphClone(graph)[1], r.graph()
    r.cudaGraphAddChildGraphNode(child, None, 0, graph)
    outer = r.cudaGraphInstantiate(child, 0)[1]
    for call, argument in (
        (r.cudaGraphDestroy, graph),
        (r.cudaGraphExecDestroy, executable),
        (r.cudaGraphDestroy, clone),
        (r.cudaGraphDestroy, child),
        (r.cudaGraphExecDestroy, outer),
    ):
        seen()
        call(argument)
    seen()
    graph, other = r.graph(), r.graph()
    r.cudaGraphRetainUserObject(graph, make(4), 1, move)
    r.cudaGraphRetainUserObject(other, make(5), 1, move)
    executable = r.cudaGraphInstantiate(graph, 0)[1]
    r.cudaGraphDestroy(graph)
    r.cudaGraphExecUpdate(executable, other)
    seen()
    r.cudaGraphDestroy(other)
    seen()
    r.cudaGraphExecDestroy(executable)
    seen()
    inner, other, graph = r.graph(), r.graph(), r.graph()
    node = r.cudaGraphAddChildGraphNode(graph, None, 0, inner)[1]
    executable = r.cudaGraphInstantiate(graph, 0)[1]
    r.cudaGraphRetainUserObject(other, make(6), 1, move)
    r.cudaGraphExecChildGraphNodeSetParams(executable, node, other)
    r.cudaGraphDestroy(other)
    seen()
    r.cudaGraphExecDestroy(executable)
    seen()
