"""What the tests of the software runtime share: short names for its calls, and kernels that write a log."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import reference_impl.runtime as rt

T = TypeVar("T")

E = rt.cudaError_t
GLOBAL = rt.cudaStreamCaptureMode.cudaStreamCaptureModeGlobal
THREAD_LOCAL = rt.cudaStreamCaptureMode.cudaStreamCaptureModeThreadLocal
RELAXED = rt.cudaStreamCaptureMode.cudaStreamCaptureModeRelaxed
MODES = (GLOBAL, THREAD_LOCAL, RELAXED)
ACTIVE = rt.cudaStreamCaptureStatus.cudaStreamCaptureStatusActive
NONE = rt.cudaStreamCaptureStatus.cudaStreamCaptureStatusNone
INVALIDATED = rt.cudaStreamCaptureStatus.cudaStreamCaptureStatusInvalidated


class Work:
    """A kernel that runs a function."""

    def __init__(
        self,
        run: Callable[[], object],
        name: str = "work",
        memory: Sequence[rt.Memory] = (),
        serial: Hashable | None = None,
    ) -> None:
        self._run = run
        self.name = name
        self.memory = memory
        self.serial = serial

    def run(self) -> None:
        self._run()


def ok(results: tuple[Any, ...]) -> Any:
    """The result of a call that succeeded; a tuple of several."""
    assert results[0] == E.cudaSuccess, results
    return results[1] if len(results) == 2 else results[1:]


def code(results: tuple[Any, ...]) -> Any:
    """The error code of a call."""
    return results[0]


def stream(*, blocking: bool = False) -> Any:
    return ok(rt.cudaStreamCreateWithFlags(rt.cudaStreamDefault if blocking else rt.cudaStreamNonBlocking))


def event() -> Any:
    return ok(rt.cudaEventCreate())


def begin(stream: Any, mode: Any = GLOBAL) -> None:
    ok(rt.cudaStreamBeginCapture(stream, mode))


def status(stream: Any) -> Any:
    return ok(rt.cudaStreamIsCapturing(stream))


def launch(stream: Any, log: list[Any], entry: Any, serial: Hashable | None = None) -> None:
    """Give `stream` a kernel that appends `entry` to `log`."""
    ok(rt.launchKernel(Work(lambda: log.append(entry), f"log {entry}", serial=serial), stream))


def after(earlier: Any, later: Any) -> None:
    """Let `later` wait for what `earlier` has to do until now."""
    mark = event()
    ok(rt.cudaEventRecord(mark, earlier))
    ok(rt.cudaStreamWaitEvent(later, mark, 0))


@contextmanager
def capturing(stream: Any, mode: Any = RELAXED) -> Iterator[list[Any]]:
    """Capture what the block does on `stream`; the list gets the template."""
    templates: list[Any] = []
    begin(stream, mode)
    yield templates
    templates.append(ok(rt.cudaStreamEndCapture(stream)))


def instantiate(template: Any) -> Any:
    return ok(rt.cudaGraphInstantiate(template, 0))


def nodes(template: Any) -> list[int]:
    number = ok(rt.cudaGraphGetNodes(template))[1]
    return [int(node) for node in ok(rt.cudaGraphGetNodes(template, number))[0]]


def edges(template: Any) -> list[tuple[int, int]]:
    """Edges as pairs of positions in order of creation."""
    number = ok(rt.cudaGraphGetEdges(template))[3]
    starts, ends, _, _ = ok(rt.cudaGraphGetEdges(template, number))
    position = {node: index for index, node in enumerate(nodes(template))}
    return [(position[int(a)], position[int(b)]) for a, b in zip(starts, ends, strict=True)]


def empty(template: Any, *waits: Any) -> Any:
    return ok(rt.cudaGraphAddEmptyNode(template, list(waits), len(waits)))


def memset_params(address: int, value: int = 1, width: int = 16, **changes: int) -> Any:
    params = rt.cudaMemsetParams()
    params.dst, params.value, params.width = address, value, width
    params.height, params.elementSize, params.pitch = 1, 1, 0
    for name, number in changes.items():
        setattr(params, name, number)
    return params


def memset(template: Any, params: Any, *waits: Any) -> Any:
    return ok(rt.cudaGraphAddMemsetNode(template, list(waits), len(waits), params))


def in_thread(work: Callable[[], T]) -> T:
    """Run `work` in a thread of its own and hand back its result."""
    results: list[T] = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    thread.join()
    return results[0]
