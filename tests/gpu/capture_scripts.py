"""Calls on captures, streams and events."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from .recorder import COPY, Recorder, native, script


@script
def begin_and_end(r: Recorder) -> None:
    for handle in (0, 1, 2):
        r.begin(handle, "g")
        r.clean(handle)
    stream = r.stream()
    r.cudaStreamEndCapture(stream)
    r.cudaStreamGetCaptureInfo(stream)
    r.begin(stream)
    r.begin(stream)
    r.cudaStreamGetCaptureInfo(stream)
    r.clean(stream)


@script
def update_dependencies(r: Recorder) -> None:
    stream, buffer = r.stream(), r.cudaMalloc(64)[1]
    r.cudaStreamUpdateCaptureDependencies(stream, None, None, 0, 1)
    r.begin(stream)
    r.cudaStreamUpdateCaptureDependencies(stream, None, None, 0, 7)
    foreign = r.empty(r.graph())
    r.cudaStreamUpdateCaptureDependencies(stream, [foreign], None, 1, 1)
    graph = r.cudaStreamGetCaptureInfo(stream)[3]
    node = r.empty(graph)
    r.cudaStreamUpdateCaptureDependencies(stream, [node], None, 1, 0)
    r.cudaStreamGetCaptureInfo(stream)
    r.cudaStreamUpdateCaptureDependencies(stream, [node, node], None, 2, 1)
    r.cudaStreamGetCaptureInfo(stream)
    r.cudaMemsetAsync(buffer, 1, 16, stream)
    r.cudaGraphGetEdges(graph, 4)
    r.cudaGraphDestroyNode(node)
    r.cudaGraphInstantiate(graph, 0)
    r.cudaGraphClone(graph)
    r.cudaStreamUpdateCaptureDependencies(stream, None, None, 0, 1)
    r.cudaMemsetAsync(buffer, 1, 16, stream)
    r.clean(stream)


@script
def capture_to_graph(r: Recorder) -> None:
    stream, graph, buffer = r.stream(), r.graph(), r.cudaMalloc(64)[1]
    node = r.empty(graph)
    r.cudaStreamBeginCaptureToGraph(stream, graph, [node], None, 1, r.mode("g"))
    r.cudaStreamGetCaptureInfo(stream)
    r.cudaMemsetAsync(buffer, 1, 16, stream)
    r.cudaStreamEndCapture(stream)
    r.cudaGraphGetEdges(graph, 2)


@script
def destroy_captured_graph(r: Recorder) -> None:
    stream = r.stream()
    r.begin(stream)
    graph = r.cudaStreamGetCaptureInfo(stream)[3]
    r.cudaGraphDestroy(graph)
    r.clean(stream)
    r.begin(stream, "g")
    r.cudaStreamDestroy(stream)
    r.cudaMalloc(16)


def blocking(mode: str) -> Callable[[Recorder], None]:
    def run(r: Recorder) -> None:
        buffer, graph = r.cudaMalloc(64)[1], r.graph()
        executable = r.cudaGraphInstantiate(graph, 0)[1]
        event, recorded, other = r.event(), r.event(), r.stream(0)
        r.cudaEventRecord(recorded, r.stream())
        uses: list[Callable[[], Any]] = [
            lambda: r.cudaStreamIsCapturing(0),
            lambda: r.cudaStreamGetCaptureInfo(0),
            lambda: r.cudaStreamQuery(0),
            lambda: r.cudaStreamSynchronize(0),
            lambda: r.cudaEventRecord(event, 0),
            lambda: r.cudaStreamWaitEvent(0, recorded, 0),
            lambda: r.cudaMemsetAsync(buffer, 1, 16, 0),
            lambda: r.cudaMemsetAsync(buffer, 1, 16, other),
            lambda: r.cudaMemsetAsync(buffer, 1, 16, 2),
            lambda: r.cudaMemset(buffer, 1, 16),
            lambda: r.cudaGraphLaunch(executable, 0),
            lambda: r.in_thread(lambda: r.cudaMemsetAsync(buffer, 1, 16, 0)),
        ]
        for use in uses:
            stream = r.stream(0)
            r.begin(stream, mode)
            use()
            r.clean(stream)
        stream = r.stream(0)
        r.begin(stream, mode)
        r.cudaStreamQuery(stream)
        r.cudaStreamIsCapturing(0)
        r.cudaMemsetAsync(buffer, 1, 16, 0)
        r.clean(stream)
        first, second = r.stream(0), r.stream(0)
        r.begin(first, mode)
        r.begin(second, mode)
        r.cudaMemsetAsync(buffer, 1, 16, 0)
        r.clean(first, second)

    run.__name__ = f"blocking_streams_{mode}"
    return run


def unsafe(mode: str) -> Callable[[Recorder], None]:
    def run(r: Recorder) -> None:
        other, event, never = r.stream(), r.event(), r.event()
        buffer, graph = r.cudaMalloc(256)[1], r.graph()
        r.empty(graph)
        executable = r.cudaGraphInstantiate(graph, 0)[1]
        r.cudaEventRecord(event, other)
        host = (ctypes.c_char * 8192)()
        r.keep.append(host)
        spare: list[Any] = []
        calls: list[Callable[[], Any]] = [
            lambda: r.cudaMalloc(64),
            lambda: r.cudaMalloc(0),
            lambda: r.cudaFree(spare[0]),
            lambda: r.cudaFree(0),
            lambda: r.cudaMemset(buffer, 0, 16),
            lambda: r.cudaMemcpy(buffer + 64, buffer, 16, COPY),
            lambda: r.cudaEventQuery(event),
            lambda: r.cudaEventQuery(never),
            lambda: r.cudaEventQuery(0),
            lambda: r.cudaEventSynchronize(event),
            r.cudaEventCreate,
            lambda: r.cudaEventDestroy(r.event()),
            lambda: r.cudaEventRecord(r.event(), other),
            r.cudaStreamCreate,
            lambda: r.cudaStreamDestroy(spare[1]),
            lambda: r.cudaStreamQuery(other),
            lambda: r.cudaStreamSynchronize(other),
            lambda: r.cudaStreamSynchronize(2),
            lambda: r.cudaStreamQuery(0),
            lambda: r.cudaStreamWaitEvent(other, event, 0),
            lambda: r.cudaMemsetAsync(buffer, 0, 16, other),
            lambda: r.cudaMemsetAsync(buffer, 0, 16, 0),
            lambda: r.cudaMemcpyAsync(buffer + 64, buffer, 16, COPY, other),
            lambda: r.cudaMallocAsync(64, other),
            lambda: r.cudaHostRegister(ctypes.addressof(host), 4096, 0),
            lambda: r.cudaGraphInstantiate(graph, 0),
            lambda: r.cudaGraphUpload(executable, other),
            lambda: r.cudaGraphLaunch(executable, other),
            lambda: r.cudaGraphExecUpdate(executable, graph),
            lambda: r.cudaGraphDestroy(r.graph()),
            lambda: r.cudaGraphExecDestroy(spare[2]),
            lambda: r.cudaSetDevice(0),
            r.cudaDeviceSynchronize,
        ]
        for call in calls:
            for run_it in (lambda work: work(), r.in_thread):
                spare[:] = [r.cudaMalloc(16)[1], r.stream(), r.cudaGraphInstantiate(graph, 0)[1]]
                stream = r.stream()
                r.begin(stream, mode)
                run_it(call)
                r.clean(stream)
                r.runtime.cudaHostUnregister(ctypes.addressof(host))

    run.__name__ = f"unsafe_calls_{mode}"
    return run


for letter in "gtr":
    script(blocking(letter))
    script(unsafe(letter))


@script
def thread_modes(r: Recorder) -> None:
    for capture in "gtr":
        for thread in "gtr":
            stream = r.stream()
            r.begin(stream, capture)

            def malloc(thread: str = thread) -> None:
                before = r.cudaThreadExchangeStreamCaptureMode(r.mode(thread))[1]
                r.cudaMalloc(16)
                r.cudaThreadExchangeStreamCaptureMode(before)

            r.in_thread(malloc)
            r.cudaStreamIsCapturing(stream)
            malloc()
            r.clean(stream)


@script
def several_captures(r: Recorder) -> None:
    first, second, event = r.stream(), r.stream(), r.event()
    uses: list[tuple[str, str, Callable[[], Any]]] = [
        ("g", "r", lambda: r.cudaMalloc(16)),
        ("g", "g", lambda: r.cudaMalloc(16)),
        ("g", "g", lambda: r.cudaStreamSynchronize(first)),
        ("g", "r", lambda: r.cudaStreamSynchronize(second)),
        ("r", "t", r.cudaDeviceSynchronize),
        ("g", "g", lambda: (r.cudaEventRecord(event, first), r.cudaEventQuery(event))),
        ("g", "g", lambda: (r.cudaEventRecord(event, first), r.cudaEventRecord(event, second))),
    ]
    for one, two, use in uses:
        r.begin(first, one)
        r.begin(second, two)
        use()
        r.clean(first, second)
    r.begin(first, "g")
    r.cudaStreamQuery(first)
    r.cudaMalloc(16)
    r.cudaDeviceSynchronize()
    r.clean(first)


@script
def captured_events(r: Recorder) -> None:
    stream, other, event, buffer = r.stream(), r.stream(), r.event(), r.cudaMalloc(64)[1]
    for use in (r.cudaEventQuery, r.cudaEventSynchronize):
        r.begin(stream)
        r.cudaMemsetAsync(buffer, 1, 16, stream)
        r.cudaEventRecord(event, stream)
        use(event)
        use(event)
        r.cudaStreamWaitEvent(other, event, 0)
        r.clean(stream)
        use(event)
    r.begin(stream)
    r.cudaEventRecord(event, stream)
    r.clean(stream)
    r.cudaEventQuery(event)
    r.cudaStreamWaitEvent(other, event, 0)
    r.begin(other)
    r.cudaStreamWaitEvent(other, event, 0)
    r.clean(other)
    r.cudaEventRecord(event, other)
    r.cudaEventSynchronize(event)
    r.begin(stream)
    r.cudaEventRecord(event, stream)
    r.cudaStreamWaitEvent(0, event, 0)
    r.clean(stream)
    r.begin(stream)
    r.cudaEventRecord(event, stream)
    r.cudaEventRecord(event, other)
    r.cudaEventSynchronize(r.event())
    r.clean(stream)
    r.begin(stream)
    r.cudaStreamWaitEvent(stream, r.event(), 0)
    r.cudaEventRecord(event, other)
    r.cudaStreamWaitEvent(stream, event, 0)
    r.clean(stream)


@script
def external_events(r: Recorder) -> None:
    stream, event = r.stream(), r.event()
    r.cudaEventRecordWithFlags(event, stream, 1)
    r.cudaStreamWaitEvent(stream, event, 1)
    r.cudaEventRecordWithFlags(event, stream, 8)
    r.cudaStreamWaitEvent(stream, event, 8)
    r.begin(stream)
    r.cudaEventRecordWithFlags(event, stream, 1)
    r.cudaStreamWaitEvent(stream, event, 1)
    r.cudaStreamGetCaptureInfo(stream)
    graph = r.cudaStreamEndCapture(stream)[1]
    for node in r.cudaGraphGetNodes(graph, 2)[1]:
        r.cudaGraphNodeGetType(node)
        r.cudaGraphEventRecordNodeGetEvent(node)


@script
def fork_and_join(r: Recorder) -> None:
    main, side, buffer = r.stream(), r.stream(), r.cudaMalloc(64)[1]

    def edge(start: Any, end: Any) -> None:
        event = r.event()
        r.cudaEventRecord(event, start)
        r.cudaStreamWaitEvent(end, event, 0)
        r.cudaStreamGetCaptureInfo(end)

    def work(stream: Any) -> None:
        r.cudaMemsetAsync(buffer, 1, 16, stream)

    def end() -> None:
        graph = r.cudaStreamEndCapture(main)[1]
        r.cudaStreamIsCapturing(main)
        r.cudaStreamIsCapturing(side)
        if graph is not None:
            r.cudaGraphGetNodes(graph, 9)
            r.cudaGraphGetEdges(graph, 9)
            r.cudaGraphGetRootNodes(graph, 9)

    r.begin(main)
    edge(main, side)
    end()
    r.begin(main)
    work(main)
    edge(main, side)
    work(side)
    work(main)
    edge(side, main)
    work(main)
    end()
    r.begin(main)
    work(main)
    edge(main, side)
    work(side)
    edge(side, main)
    work(main)
    edge(side, main)
    work(main)
    end()
    r.begin(main)
    edge(main, side)
    work(side)
    edge(side, main)
    end()
    r.begin(main)
    work(main)
    edge(main, side)
    edge(side, main)
    edge(main, side)
    edge(main, side)
    r.begin(side)
    r.cudaStreamEndCapture(side)
    end()
    for join_early in (False, True):
        r.begin(main)
        work(main)
        edge(main, side)
        work(side)
        if join_early:
            edge(side, main)
        work(side)
        end()
    work(side)
    r.begin(main)
    edge(main, 2)
    r.cudaStreamIsCapturing(2)
    edge(main, r.stream(0))
    r.cudaStreamIsCapturing(0)
    end()


@script
def destroyed_forks(r: Recorder) -> None:
    for busy in (False, True):
        main, side, event, buffer = r.stream(), r.stream(), r.event(), r.cudaMalloc(64)[1]
        r.begin(main)
        r.cudaMemsetAsync(buffer, 1, 16, main)
        r.cudaEventRecord(event, main)
        r.cudaEventDestroy(event) if not busy else r.cudaStreamWaitEvent(side, event, 0)
        if busy:
            r.cudaMemsetAsync(buffer, 1, 16, side)
        r.cudaStreamDestroy(side)
        r.clean(main)


@script
def invalidation(r: Recorder) -> None:
    first, second, event, buffer = r.stream(), r.stream(), r.event(), r.cudaMalloc(64)[1]
    r.begin(first)
    r.begin(second)
    r.cudaMemsetAsync(buffer, 1, 16, first)
    r.cudaEventRecord(event, first)
    r.cudaStreamWaitEvent(second, event, 0)
    r.clean(first, second)
    for query in (False, True):
        r.begin(first)
        r.cudaMemsetAsync(buffer, 1, 16, first)
        r.cudaEventRecord(event, first)
        r.cudaStreamWaitEvent(second, event, 0)
        if query:
            r.cudaStreamQuery(second)
            r.cudaMemsetAsync(buffer, 1, 16, second)
            r.cudaMemsetAsync(buffer, 1, 0, second)
            r.begin(first)
            r.begin(second)
            r.cudaStreamGetCaptureInfo(first)
            r.cudaEventRecord(event, first)
            r.cudaEventRecord(r.event(), first)
            r.cudaStreamWaitEvent(r.stream(), event, 0)
            r.cudaEventQuery(event)
            r.cudaStreamUpdateCaptureDependencies(first, None, None, 0, 1)
            r.cudaStreamSynchronize(first)
            r.cudaStreamQuery(second)
            r.cudaStreamWaitEvent(first, r.event(), 0)
        r.cudaStreamEndCapture(second)
        r.cudaStreamIsCapturing(first)
        r.cudaStreamIsCapturing(second)
        r.clean(first)
        r.cudaStreamIsCapturing(second)
        r.cudaMemsetAsync(buffer, 1, 16, second)
    for mode in "gtr":
        r.begin(first, mode)
        r.in_thread(lambda: r.cudaStreamEndCapture(first))
        r.clean(first)
        r.begin(first, mode)
        r.cudaStreamSynchronize(first)
        r.in_thread(lambda: r.cudaStreamEndCapture(first))
        r.clean(first)


@script
def work_in_a_capture(r: Recorder) -> None:
    stream, buffer, graph = r.stream(), r.cudaMalloc(4096)[1], r.graph()
    r.memset(graph, r.fill(buffer))
    executable = r.cudaGraphInstantiate(graph, 0)[1]
    for mode in "gtr":
        r.begin(stream, mode)
        r.cudaGraphLaunch(executable, stream)
        r.clean(stream)
        r.begin(stream, mode)
        r.cudaGraphUpload(executable, stream)
        r.clean(stream)
    r.begin(stream)
    r.cudaMemsetAsync(buffer, 0x1FF, 16, stream)
    r.cudaMemsetAsync(buffer, 1, 0, stream)
    r.cudaMemset2DAsync(buffer, 64, 1, 16, 2, stream)
    r.cudaMemcpyAsync(buffer, buffer + 64, 16, COPY, stream)
    r.cudaMemcpyAsync(buffer, buffer + 64, 0, COPY, stream)
    r.cudaFreeAsync(buffer, stream)
    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: None)
    r.keep.append(callback)
    address = ctypes.cast(callback, ctypes.c_void_p).value
    r.cudaLaunchHostFunc(stream, native.cudaHostFn_t(init_value=address), 0)
    captured = r.cudaStreamEndCapture(stream)[1]
    for node in r.cudaGraphGetNodes(captured, 4)[1]:
        r.cudaGraphNodeGetType(node)
        r.cudaGraphMemsetNodeGetParams(node)
        r.cudaGraphMemcpyNodeGetParams(node)
    r.cudaGraphGetEdges(captured, 3)
    executable = r.cudaGraphInstantiate(captured, 0)[1]
    r.cudaGraphLaunch(executable, stream)
    r.cudaStreamSynchronize(stream)


@script
def queries(r: Recorder) -> None:
    graph = r.graph()
    first = r.empty(graph)
    second = r.empty(graph, first)
    third = r.empty(graph, second, first)
    for number in (0, 1, 2, 5):
        r.cudaGraphGetNodes(graph, number)
        r.cudaGraphGetEdges(graph, number)
        r.cudaGraphGetRootNodes(graph, number)
        r.cudaGraphNodeGetDependencies(third, number)
        r.cudaGraphNodeGetDependentNodes(first, number)
    r.cudaGraphNodeGetType(first)
    r.cudaGraphNodeGetLocalId(third)
    r.cudaGraphNodeGetContainingGraph(first)
    r.cudaGraphDebugDotPrint(graph, b"/nonexistent/folder/x.dot", 0)
    for flags in (0, 1, 2, 8, 9, 11, 1024):
        executable = r.cudaGraphInstantiate(graph, flags)[1]
        # Node priorities are dropped where no kernel has one.
        if executable is not None and not flags & 8:
            r.cudaGraphExecGetFlags(executable)
    r.cudaGraphCreate(1)
    r.cudaSetDevice(99)
    r.cudaThreadExchangeStreamCaptureMode(r.mode("r"))
    r.cudaThreadExchangeStreamCaptureMode(r.mode("g"))
    r.cudaStreamGetFlags(0)
    r.cudaStreamGetFlags(r.stream())
    r.cudaStreamCreateWithFlags(2)
    r.cudaEventCreateWithFlags(64)
