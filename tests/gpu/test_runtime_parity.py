"""The software runtime against the real one: the same calls, compared one by one.

Each script makes calls through a recorder, which writes down what they answer with addresses and
identities replaced by names. On a machine with a GPU both runtimes must write the same.
"""

import ctypes
import threading
from collections.abc import Callable
from itertools import count
from types import ModuleType
from typing import Any

import pytest

from reference_impl import software

native = pytest.importorskip("cuda.bindings.runtime", reason="needs cuda-python")


def why_not() -> str | None:
    code, number = native.cudaGetDeviceCount()
    if code != native.cudaError_t.cudaSuccess or not number:
        return f"needs a CUDA GPU: cudaGetDeviceCount answers {code.name}"
    return None


MISSING = why_not()
CREATING = ("Create", "Instantiate", "Clone", "GraphAdd")
# What the model offers and an older driver answers with these is not compared.
UNAVAILABLE = {"cudaErrorCallRequiresNewerDriver"}


class Recorder:
    """A runtime that writes down what each call answers."""

    def __init__(self, runtime: ModuleType) -> None:
        self.runtime = runtime
        self.log: list[str] = []
        self.names: dict[Any, str] = {}
        self.numbers = count()
        self.keep: list[Any] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function = getattr(self.runtime, name)

        def call(*args: Any) -> Any:
            results = function(*args)
            if name == "cudaStreamBeginCapture":
                self.names = {key: each for key, each in self.names.items() if key[0] != "cudaGraphNode_t"}
            if any(each in name for each in CREATING):
                # The real runtime gives the address of what was destroyed again.
                for value in results[1:]:
                    self.names.pop((type(value).__name__, self.number(value)), None)
            shown = [self.show(each) for each in results]
            if name == "cudaStreamGetCaptureInfo" and results[2]:
                shown[2] = self.name("capture", results[2])
            self.log.append(f"{name}: {', '.join(shown)}")
            return results

        return call

    def number(self, value: Any) -> int:
        return int(value) if type(value).__name__.endswith("_t") else 0

    def show(self, value: Any) -> str:
        kind = type(value).__name__
        if isinstance(value, (list, tuple)):
            return f"[{', '.join(self.show(each) for each in value)}]"
        if hasattr(value, "name"):
            return str(value.name)
        if kind.endswith("_t"):
            if kind == "cudaGraph_t":
                # Captures create and drop templates unseen, so their addresses tell nothing.
                return "graph" if int(value) else "null"
            return self.name(kind, int(value)) if int(value) else "null"
        if isinstance(value, int) and value > 1 << 20:
            return "address"
        if kind == "cudaMemsetParams":
            return f"{value.value} {value.pitch} {value.elementSize} {value.width} {value.height}"
        if kind == "cudaMemcpy3DParms":
            return f"{value.extent.width} {value.extent.height} {value.extent.depth} {value.kind.name}"
        if kind == "cudaGraphEdgeData":
            return f"{value.from_port}{value.to_port}{value.type}"
        return "info" if kind == "cudaGraphExecUpdateResultInfo" else repr(value)

    def name(self, kind: str, value: int) -> str:
        if (kind, value) not in self.names:
            self.names[kind, value] = f"{kind}#{next(self.numbers)}"
        return self.names[kind, value]

    def mode(self, letter: str) -> Any:
        modes = native.cudaStreamCaptureMode
        return {
            "g": modes.cudaStreamCaptureModeGlobal,
            "t": modes.cudaStreamCaptureModeThreadLocal,
            "r": modes.cudaStreamCaptureModeRelaxed,
        }[letter]

    def stream(self, flags: int = 1) -> Any:
        return self.cudaStreamCreateWithFlags(flags)[1]

    def event(self) -> Any:
        return self.cudaEventCreateWithFlags(2)[1]

    def begin(self, stream: Any, mode: str = "r") -> Any:
        return self.cudaStreamBeginCapture(stream, self.mode(mode))

    def graph(self) -> Any:
        return self.cudaGraphCreate(0)[1]

    def empty(self, graph: Any, *waits: Any) -> Any:
        return self.cudaGraphAddEmptyNode(graph, list(waits) or None, len(waits))[1]

    def fill(
        self, address: int, value: int = 1, width: int = 16, height: int = 1, size: int = 1, pitch: int = 0
    ) -> Any:
        params = native.cudaMemsetParams()
        params.dst, params.value, params.width = address, value, width
        params.height, params.elementSize, params.pitch = height, size, pitch
        return params

    def memset(self, graph: Any, params: Any, *waits: Any) -> Any:
        return self.cudaGraphAddMemsetNode(graph, list(waits) or None, len(waits), params)[1]

    def in_thread(self, work: Callable[[], Any]) -> Any:
        results: list[Any] = []
        thread = threading.Thread(target=lambda: results.append(work()))
        thread.start()
        thread.join()
        return results[0]

    def clean(self, *streams: Any) -> None:
        """End what is left capturing on the streams, and show that they are usable."""
        for stream in streams:
            self.cudaStreamIsCapturing(stream)
            self.cudaStreamEndCapture(stream)
            self.cudaStreamIsCapturing(stream)


COPY = native.cudaMemcpyKind.cudaMemcpyDefault
SCRIPTS: list[Callable[[Recorder], None]] = []


def script(function: Callable[[Recorder], None]) -> Callable[[Recorder], None]:
    SCRIPTS.append(function)
    return function


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
    made = r.cudaGraphInstantiate(captured, 0)[1]
    r.cudaGraphLaunch(made, stream)
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
        made = r.cudaGraphInstantiate(graph, flags)[1]
        # Node priorities are dropped where no kernel has one.
        if made is not None and not flags & 8:
            r.cudaGraphExecGetFlags(made)
    r.cudaGraphCreate(1)
    r.cudaSetDevice(99)
    r.cudaThreadExchangeStreamCaptureMode(r.mode("r"))
    r.cudaThreadExchangeStreamCaptureMode(r.mode("g"))
    r.cudaStreamGetFlags(0)
    r.cudaStreamGetFlags(r.stream())
    r.cudaStreamCreateWithFlags(2)
    r.cudaEventCreateWithFlags(64)


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
    made = r.cudaGraphInstantiate(graph, 0)[1]
    r.cudaGraphNodeGetEnabled(made, wait)
    r.cudaGraphExecEventWaitNodeSetEvent(made, wait, r.event())
    r.cudaGraphLaunch(made, 0)
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
    made = r.cudaGraphInstantiate(graph, 0)[1]
    r.cudaGraphExecMemsetNodeSetParams(made, node, r.fill(buffer, 9))
    r.cudaGraphExecMemsetNodeSetParams(made, node, r.fill(buffer, 9, width=32))
    r.cudaGraphExecMemsetNodeSetParams(made, node, r.fill(buffer, 9, width=4, height=2, pitch=64))
    r.cudaGraphExecMemsetNodeSetParams(made, foreign, r.fill(buffer, 9))
    r.cudaGraphExecMemsetNodeSetParams(made, empty, r.fill(buffer, 9))
    r.cudaGraphNodeGetEnabled(made, node)
    r.cudaGraphNodeSetEnabled(made, node, 0)
    r.cudaGraphNodeGetEnabled(made, node)
    r.cudaGraphNodeGetEnabled(made, empty)
    r.cudaGraphNodeSetEnabled(made, empty, 0)
    r.cudaGraphNodeGetEnabled(made, foreign)
    r.cudaGraphMemsetNodeSetParams(node, r.fill(buffer, 3, width=64))
    r.cudaGraphMemsetNodeGetParams(node)
    r.cudaGraphMemsetNodeSetParams(node, r.fill(buffer, size=3))
    r.cudaGraphMemsetNodeSetParams(empty, r.fill(buffer))
    r.cudaGraphLaunch(made, 0)
    r.cudaGraphDestroyNode(node)
    r.cudaGraphLaunch(made, 0)
    r.cudaGraphDestroy(graph)
    r.cudaGraphLaunch(made, 0)
    r.cudaGraphUpload(made, 0)
    r.cudaDeviceSynchronize()
    r.cudaGraphExecDestroy(made)


@script
def child_graphs(r: Recorder) -> None:
    buffer, graph, child = r.cudaMalloc(4096)[1], r.graph(), r.graph()
    original = r.memset(child, r.fill(buffer))
    node = r.cudaGraphAddChildGraphNode(graph, None, 0, child)[1]
    copy = r.cudaGraphAddMemcpyNode1D(graph, None, 0, buffer + 512, buffer + 1024, 16, COPY)[1]
    made = r.cudaGraphInstantiate(graph, 0)[1]
    r.cudaGraphNodeGetEnabled(made, node)
    r.cudaGraphNodeGetEnabled(made, copy)
    other = r.cudaGraphClone(child)[1]
    r.cudaGraphExecChildGraphNodeSetParams(made, node, other)
    r.empty(other)
    r.cudaGraphExecChildGraphNodeSetParams(made, node, other)
    r.cudaGraphExecMemcpyNodeSetParams1D(made, copy, buffer + 512, buffer + 1024, 32, COPY)
    r.cudaGraphMemcpyNodeSetParams1D(copy, buffer, buffer + 128, 0, COPY)
    r.cudaGraphMemcpyNodeSetParams1D(copy, buffer, buffer + 128, 8, COPY)
    inner = r.cudaGraphGetNodes(r.cudaGraphChildGraphNodeGetGraph(node)[1], 1)[1][0]
    r.cudaGraphExecMemsetNodeSetParams(made, inner, r.fill(buffer, 5))
    r.cudaGraphNodeSetEnabled(made, inner, 0)
    r.cudaGraphExecMemsetNodeSetParams(made, original, r.fill(buffer, 5))
    r.cudaGraphMemsetNodeSetParams(node, r.fill(buffer))
    clone = r.cudaGraphClone(graph)[1]
    r.cudaGraphExecUpdate(made, clone)
    twin = r.cudaGraphNodeFindInClone(copy, clone)[1]
    r.cudaGraphExecMemcpyNodeSetParams1D(made, twin, buffer + 512, buffer + 1024, 32, COPY)
    r.cudaGraphLaunch(made, 0)
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
        made = r.cudaGraphInstantiate(make("same"), 0)[1]
        r.cudaGraphExecUpdate(made, make(change))
        r.cudaGraphLaunch(made, 0)
    r.cudaGraphExecUpdate(0, make("same"))
    r.cudaGraphExecUpdate(made, 0)
    r.cudaDeviceSynchronize()
    graphs = [r.graph(), r.graph()]
    r.memset(graphs[0], r.fill(buffer))
    r.empty(graphs[0])
    r.empty(graphs[1])
    r.memset(graphs[1], r.fill(buffer))
    made = r.cudaGraphInstantiate(graphs[0], 0)[1]
    r.cudaGraphExecUpdate(made, graphs[1])


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
    made = r.cudaGraphInstantiate(graph, 0)[1]
    r.cudaGraphDestroy(graph)
    r.cudaGraphExecDestroy(made)
    r.cudaGraphDestroy(graph)
    r.cudaGraphGetNodes(graph)
    r.cudaGraphInstantiate(graph, 0)
    r.cudaGraphClone(graph)
    r.cudaGraphAddEmptyNode(graph, None, 0)
    r.cudaGraphExecDestroy(made)
    r.cudaGraphLaunch(made, 0)
    r.cudaGraphExecGetFlags(made)


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


def play(runtime: ModuleType, run: Callable[[Recorder], None]) -> list[str]:
    recorder = Recorder(runtime)
    before = software.cudaThreadExchangeStreamCaptureMode(recorder.mode("g"))[1]
    assert before == recorder.mode("g"), "a script before this one left its thread in another mode"
    runtime.cudaGetLastError()
    run(recorder)
    return recorder.log


@pytest.mark.parametrize("run", SCRIPTS, ids=lambda run: run.__name__)
def test_scripts_leave_no_capture_behind(run: Callable[[Recorder], None]) -> None:
    log = play(software, run)
    assert log == play(software, run), "the same calls were answered differently the second time"
    assert software.live_counts()["captures"] == 0


@pytest.mark.skipif(MISSING is not None, reason=str(MISSING))
@pytest.mark.parametrize("run", SCRIPTS, ids=lambda run: run.__name__)
def test_software_answers_as_cuda_does(run: Callable[[Recorder], None]) -> None:
    native.cudaFree(0)
    real = play(native, run)
    model = play(software, run)
    differences = [
        f"call {index}:\n    CUDA:  {theirs}\n    model: {ours}"
        for index, (theirs, ours) in enumerate(zip(real, model, strict=False))
        if theirs != ours and not any(each in theirs for each in UNAVAILABLE)
    ]
    assert not differences, "the model answers differently from CUDA\n" + "\n".join(differences)
    assert len(real) == len(model)
