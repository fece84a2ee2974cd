"""Scripts of calls, and what a runtime answers to them with addresses and identities replaced by names."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import count
from types import ModuleType
from typing import Any

import pytest

native = pytest.importorskip("cuda.bindings.runtime", reason="needs cuda-python")

CREATING = ("Create", "Instantiate", "Clone", "GraphAdd")


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
            texts = [self.show(each) for each in results]
            if name == "cudaStreamGetCaptureInfo" and results[2]:
                texts[2] = self.name("capture", results[2])
            self.log.append(f"{name}: {', '.join(texts)}")
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
                # Captures create and drop templates unseen, so their addresses mean nothing.
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
