"""Plays a program on a machine, and notes what each call answers, with identities replaced by places."""

from __future__ import annotations

import ctypes
import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tests.gpu.recorder import COPY, native

from .machines import Machine
from .step import Program

SLOT = 64
_SLOTS = 250
_PATTERNS = 4
_BYTES = SLOT * (_SLOTS + _PATTERNS)
_INITIAL = 0xA5
_PAGE = 4096

#: What they answer besides their code is the machine's own.
_OPAQUE = {
    "cudaDriverGetVersion",
    "cudaEventElapsedTime",
    "cudaGetDeviceCount",
    "cudaGraphHostNodeGetParams",
    "cudaGraphKernelNodeGetParams",
}
#: Ids tell things apart and say nothing else; the number's place in the answer.
_IDS = {
    "cudaGraphExecGetId": 1,
    "cudaGraphGetId": 1,
    "cudaGraphNodeGetToolsId": 1,
    "cudaStreamGetCaptureInfo": 2,
    "cudaStreamGetId": 1,
}

_MODES = native.cudaStreamCaptureMode
MODES = {
    "global": _MODES.cudaStreamCaptureModeGlobal,
    "thread_local": _MODES.cudaStreamCaptureModeThreadLocal,
    "relaxed": _MODES.cudaStreamCaptureModeRelaxed,
}
TYPES = native.cudaGraphNodeType
SUCCESS = native.cudaError_t.cudaSuccess

_libc = ctypes.CDLL(None)
POST = ctypes.cast(_libc.sem_post, ctypes.c_void_p).value
"""A C function of one pointer that counts its calls and needs no interpreter: `sem_post`."""


class Count:
    """How often `POST` was called with `address`."""

    def __init__(self) -> None:
        self._semaphore = (ctypes.c_char * 64)()
        self.address = ctypes.addressof(self._semaphore)
        _libc.sem_init(self._semaphore, 0, 0)

    @property
    def value(self) -> int:
        number = ctypes.c_int()
        _libc.sem_getvalue(self._semaphore, ctypes.byref(number))
        return number.value


@dataclass(eq=False)
class Graph:
    """A template that the program owns.

    `intact` until one of its nodes is destroyed: a node made later may have the same address, and what executables and
    clones remember of the first would seem to be about the second.
    """

    handle: Any
    source: Graph | None = None
    intact: bool = True
    references: Counter[int] = field(default_factory=Counter)


@dataclass(eq=False)
class Executable:
    """An executable, with the template that it was made from."""

    handle: Any
    source: Graph


@dataclass(eq=False)
class UserObject:
    """A user object, and how many references the program has to it."""

    handle: Any
    owned: int


class Player:
    """One program on one machine.

    Nothing runs beside anything else: work outside of captures is waited for, so that answers and memory say what the
    calls did, and not when.  Each step has a slot of memory of its own, so that they also do not depend on the order of
    nodes that no edge orders.

    Args:
        machine: to play on.
        without: names of calls that are left out.
    """

    def __init__(self, machine: Machine, without: frozenset[str] = frozenset()) -> None:
        self.machine = machine
        self.runtime = machine.runtime
        self.without = without
        self.log: list[tuple[int, str]] = []
        self.at = 0
        self._ids: dict[tuple[str, int], str] = {}
        runtime = self.runtime
        runtime.cudaThreadExchangeStreamCaptureMode(MODES["global"])
        runtime.cudaGetLastError()
        self.streams = [runtime.cudaStreamCreateWithFlags(each)[1] for each in (1, 1, 0)]
        self.streams += [native.cudaStream_t(init_value=each) for each in (0, 2)]
        # Nodes use these, so they are never destroyed.
        self.events = [runtime.cudaEventCreateWithFlags(each)[1] for each in (2, 2, 0)]
        self.spare_events: list[Any] = []
        self.graphs: list[Graph] = []
        self.executables: list[Executable] = []
        self.blocks: list[int] = []
        self.objects: list[UserObject] = []
        self.made_objects = False
        self.called, self.destroyed = Count(), Count()
        self._host = (ctypes.c_char * (2 * _PAGE))()
        self.page = -(-ctypes.addressof(self._host) // _PAGE) * _PAGE
        self.buffer: int = runtime.cudaMalloc(_BYTES)[1]
        runtime.cudaMemset(self.buffer, _INITIAL, _BYTES)
        for number in range(_PATTERNS):
            runtime.cudaMemset(self.pattern(number), number, SLOT)
        runtime.cudaDeviceSynchronize()

    # -- calls ---------------------------------------------------------------------------------------------------------

    def call(self, name: str, *args: Any, graph: Any = None, aside: bool = False) -> Any:
        """Make a call and note what it answers.

        Args:
            name: of the function.
            args: for it.
            graph: a template: nodes in the answer are named by their places in it.
            aside: make the call in a thread of its own.

        Returns:
            What the function returned, or None where the call is left out.
        """
        if name in self.without:
            return None
        function = getattr(self.runtime, name)
        results = _in_thread(function, args) if aside else function(*args)
        self.note(name, results, graph)
        return results

    def note(self, name: str, results: Any, graph: Any = None) -> None:
        """Note what a call answered."""
        places = {int(node): place for place, node in enumerate(self.nodes(graph))} if graph is not None else {}
        at = _IDS.get(name)
        if at is not None and results[at]:
            identity = self._ids.setdefault((name, results[at]), f"id {len(self._ids)}")
            results = (*results[:at], identity, *results[at + 1 :])
        values = results[1:] if name not in _OPAQUE else ()
        texts = [results[0].name if hasattr(results[0], "name") else repr(results[0])]
        self.log.append((self.at, " ".join([f"{name}:", *texts, *(self._text(each, places) for each in values)])))

    def _text(self, value: Any, places: dict[int, int]) -> str:
        kind = type(value).__name__
        if isinstance(value, str):
            return value
        if isinstance(value, list | tuple):
            return f"[{' '.join(self._text(each, places) for each in value)}]"
        if hasattr(value, "name"):
            return str(value.name)
        if kind == "cudaGraphNode_t":
            return str(places.get(int(value), "a node")) if int(value) else "null"
        if kind == "cudaEvent_t":
            return str([int(each) for each in self.events].index(int(value))) if self._is_event(value) else "an event"
        if kind.endswith("_t"):
            return "a handle" if int(value) else "null"
        if isinstance(value, int):
            return self._place(value) if value >> 20 else str(value)
        if kind == "cudaMemsetParams":
            place = self._place(int(value.dst))
            return f"{place} {value.value} {value.pitch} {value.elementSize} {value.width} {value.height}"
        if kind == "cudaMemcpy3DParms":
            extent = value.extent
            return f"{extent.width} {extent.height} {extent.depth} {value.kind.name}"
        if kind == "cudaGraphEdgeData":
            return f"{value.from_port}{value.to_port}{value.type}"
        return "info" if kind.endswith("Info") else repr(value)

    def _is_event(self, value: Any) -> bool:
        return int(value) in {int(each) for each in self.events}

    def _place(self, address: int) -> str:
        return f"slot {(address - self.buffer) / SLOT:g}" if 0 <= address - self.buffer < _BYTES else "an address"

    def work(self, name: str, *args: Any, stream: Any, aside: bool = False) -> Any:
        """Make a call that gives a stream work, and wait for that work unless it was captured."""
        results = self.call(name, *args, aside=aside)
        if results is not None and results[0] == SUCCESS:
            self.wait(stream)
        return results

    def kernel(self, stream: Any) -> None:
        """The same for a kernel that adds 1 in this step's slot."""
        code = self.machine.increment(self.slot(), stream)
        # Launches go through the driver on a GPU, whose errors are not the runtime's last one.
        self.runtime.cudaGetLastError()
        self.note("kernel", (code,))
        if code == SUCCESS:
            self.wait(stream)

    def wait(self, stream: Any) -> None:
        """Wait for a stream that does not capture, in a way that harms no capture."""
        runtime = self.runtime
        code, status = runtime.cudaStreamIsCapturing(stream)
        if code == SUCCESS and status == native.cudaStreamCaptureStatus.cudaStreamCaptureStatusNone:
            before = runtime.cudaThreadExchangeStreamCaptureMode(MODES["relaxed"])[1]
            runtime.cudaStreamSynchronize(stream)
            runtime.cudaThreadExchangeStreamCaptureMode(before)

    # -- what steps name by small numbers ------------------------------------------------------------------------------

    def slot(self) -> int:
        """The address of this step's memory."""
        return self.buffer + SLOT * (self.at % _SLOTS)

    def pattern(self, number: int) -> int:
        """The address of memory to copy from, which nothing writes: what is copied does not depend on when."""
        return self.buffer + SLOT * (_SLOTS + number % _PATTERNS)

    def stream(self, number: int) -> Any:
        return self.streams[number % len(self.streams)]

    def event(self, number: int, *, spare: bool = True) -> Any:
        """An event; the null handle for -1."""
        events = self.events + (self.spare_events if spare else [])
        return events[number % len(events)] if number >= 0 else native.cudaEvent_t(init_value=0)

    def owned(self, number: int) -> Graph | None:
        """A template of the program's own, the latest for 0; None where there is none, and for -1."""
        return self.graphs[-1 - number % len(self.graphs)] if self.graphs and number >= 0 else None

    def graph(self, number: int) -> Any:
        """A template's handle: below 4 one of the program's own, from 4 on what a stream captures, from 8 on one
        inside of another; a null handle where there is none, and for -1.
        """
        if number >= 8:
            return self._inside(number - 8)
        if number >= 4:
            return self.captured(self.stream(number - 4)) or _NO_GRAPH
        owned = self.owned(number)
        return _NO_GRAPH if owned is None else owned.handle

    def captured(self, stream: Any) -> Any:
        """What a stream captures into; None for nothing."""
        results = self.runtime.cudaStreamGetCaptureInfo(stream)
        return results[3] if results[0] == SUCCESS and int(results[3]) else None

    def _inside(self, number: int) -> Any:
        outer = self.owned(number)
        child = None if outer is None else next(iter(self.typed(outer.handle, TYPES.cudaGraphNodeTypeGraph)), None)
        return _NO_GRAPH if child is None else self.runtime.cudaGraphChildGraphNodeGetGraph(child)[1]

    def nodes(self, graph: Any) -> list[Any]:
        """The nodes of a template in their order."""
        if graph is None or not int(graph):
            return []
        number = self.runtime.cudaGraphGetNodes(graph)[2]
        return list(self.runtime.cudaGraphGetNodes(graph, number)[1]) if number else []

    def typed(self, graph: Any, kind: Any) -> list[Any]:
        """The nodes of one type."""
        return [each for each in self.nodes(graph) if self.runtime.cudaGraphNodeGetType(each)[1] == kind]

    def node(self, graph: Any, number: int, kind: Any = None) -> Any:
        """A node: of the type `kind` where the template has one, otherwise any; a null handle where there is none, and
        for -1.
        """
        nodes = self.nodes(graph)
        if number >= 0 and kind is not None:
            nodes = self.typed(graph, kind) or nodes
        return nodes[number % len(nodes)] if nodes and number >= 0 else native.cudaGraphNode_t(init_value=0)

    def executable(self, number: int) -> Executable | None:
        """An executable, the latest for 0; None where there is none, and for -1."""
        return self.executables[-1 - number % len(self.executables)] if self.executables and number >= 0 else None

    def launchable(self, number: int) -> Any:
        """An executable's handle, or a null one."""
        found = self.executable(number)
        return native.cudaGraphExec_t(init_value=0) if found is None else found.handle

    def made(self, results: Any, source: Graph | None = None) -> None:
        """Remember a template that a call returned, unless it is known."""
        if results[0] == SUCCESS and all(int(results[1]) != int(each.handle) for each in self.graphs):
            self.graphs.append(Graph(results[1], source))

    # -- a whole program -----------------------------------------------------------------------------------------------

    def play(self, program: Program) -> list[tuple[int, str]]:
        """Play a program, end what it left open, look at what it did, and give everything back.

        Returns:
            What the calls answered, each with the number of its step; the last step is what comes after the program.
        """
        for self.at, each in enumerate(program):
            each.play(self)
        self.at = len(program)
        self._end()
        self._look()
        self._release()
        return self.log

    def _end(self) -> None:
        self.runtime.cudaThreadExchangeStreamCaptureMode(MODES["global"])
        # Twice: a stream that was forked leaves when the one that the capture began on ends it.
        for stream in [*self.streams, *self.streams]:
            code, status = self.runtime.cudaStreamIsCapturing(stream)
            if code == SUCCESS and status != native.cudaStreamCaptureStatus.cudaStreamCaptureStatusNone:
                self.made(self.call("cudaStreamEndCapture", stream))
        for stream in self.streams:
            self.call("cudaStreamIsCapturing", stream)
        self.call("cudaDeviceSynchronize")

    def _look(self) -> None:
        host = (ctypes.c_char * _BYTES)()
        address = ctypes.addressof(host)
        self.machine.reach(address, _BYTES)
        self.call("cudaMemcpy", address, self.buffer, _BYTES, COPY)
        self.machine.leave(address)
        for place in range(min(self.at, _SLOTS)):
            content = host.raw[place * SLOT : (place + 1) * SLOT]
            if content != bytes([_INITIAL]) * SLOT:
                self.log.append((self.at, f"memory of step {place}: {content.hex()}"))
        for graph in self.graphs:
            types = [self.runtime.cudaGraphNodeGetType(each)[1].name[17:] for each in self.nodes(graph.handle)]
            self.log.append((self.at, f"nodes: {' '.join(types)}"))
            number = self.runtime.cudaGraphGetEdges(graph.handle)[4]
            self.call("cudaGraphGetEdges", graph.handle, number, graph=graph.handle)
        self.log.append((self.at, f"calls of the host: {self.called.value}"))

    def _release(self) -> None:
        runtime = self.runtime
        for executable in self.executables:
            runtime.cudaGraphExecDestroy(executable.handle)
        for graph in self.graphs:
            runtime.cudaGraphDestroy(graph.handle)
        for item in self.objects:
            runtime.cudaUserObjectRelease(item.handle, item.owned)
        for event in [*self.events, *self.spare_events]:
            runtime.cudaEventDestroy(event)
        for stream in self.streams:
            if int(stream) > 2:
                runtime.cudaStreamDestroy(stream)
        for block in self.blocks:
            runtime.cudaFree(block)
        runtime.cudaHostUnregister(self.page)
        runtime.cudaFree(self.buffer)
        runtime.cudaGetLastError()
        self.call("cudaDeviceSynchronize")
        if self.made_objects:
            self.machine.settle()
        self.log.append((self.at, f"objects destroyed: {self.destroyed.value}"))


_NO_GRAPH = native.cudaGraph_t(init_value=0)


def _in_thread(function: Any, args: tuple[Any, ...]) -> Any:
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(function(*args)))
    thread.start()
    thread.join()
    return results[0]
