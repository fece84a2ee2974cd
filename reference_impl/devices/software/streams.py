"""Streams and events of the software device, with torch.cuda's methods."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

from reference_impl import runtime
from reference_impl.errors import check
from reference_impl.runtime.streams import find_stream

if TYPE_CHECKING:
    from typing_extensions import Self


class _Thread(threading.local):
    """The current stream of the calling thread: `default` in one that never set another."""

    def __init__(self, default: Stream) -> None:
        self.current = default


class Streams:
    """The streams of one device: who makes them, and which one each thread has made current.

    Args:
        changed: called in a thread whose current stream became another one, or may have entered a capture.

    Attributes:
        default: the default stream.
        thread: has the calling thread's `current` stream.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self.changed = changed
        self.default = Stream(self, 0)
        self.thread = _Thread(self.default)
        self._idle: list[int] = []

    def make_current(self, stream: Stream) -> None:
        """Make `stream` the calling thread's current one."""
        self.thread.current = stream
        self.changed()

    def new(self) -> Stream:
        """A stream that no other live `Stream` stands for."""
        handle = self._take()
        stream = Stream(self, handle)
        weakref.finalize(stream, self._idle.append, handle).atexit = False
        return stream

    def _take(self) -> int:
        # A handle whose object died is used again, but not while its work is still part of a capture.
        for handle in list(self._idle):
            if int(runtime.cudaStreamIsCapturing(handle)[1]) == 0:
                with contextlib.suppress(ValueError):  # another thread was faster
                    self._idle.remove(handle)
                    return handle
        created = runtime.cudaStreamCreateWithFlags(runtime.cudaStreamNonBlocking)
        return int(check(runtime, "cudaStreamCreateWithFlags", created))


class Stream:
    """A queue of work on the software device.

    Attributes:
        cuda_stream: its handle.
        queue: the runtime's stream behind the handle, which knows the capture that it takes part in.
    """

    def __init__(self, streams: Streams, handle: int) -> None:
        self._streams = streams
        self.cuda_stream = handle
        self.queue = find_stream(handle)
        self._outer: list[Stream] = []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.cuda_stream == self.cuda_stream

    def __hash__(self) -> int:
        return hash(self.cuda_stream)

    def __repr__(self) -> str:
        return f"<reference_impl.Stream {self.cuda_stream:#x}>"

    def record_event(self, event: Event | None = None) -> Event:
        """Record `event`, or a new one, after the work given to this stream so far; return it."""
        event = Event(self._streams) if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Let all later work of this stream wait for `event`."""
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """Let all later work of this stream wait for what `stream` has been given so far."""
        self.wait_event(stream.record_event())

    def synchronize(self) -> None:
        """Wait on the host for this stream's work.  Raises `DeviceError` in a capture, which it spoils."""
        check(runtime, "cudaStreamSynchronize", runtime.cudaStreamSynchronize(self.cuda_stream))

    def query(self) -> bool:
        """Whether all work is done.  Raises `DeviceError` in a capture, which it spoils."""
        return _ready("cudaStreamQuery", runtime.cudaStreamQuery(self.cuda_stream))

    def is_capturing(self) -> bool:
        """Whether a capture, valid or invalidated, is underway on this stream."""
        return int(check(runtime, "cudaStreamIsCapturing", runtime.cudaStreamIsCapturing(self.cuda_stream))) != 0

    def __enter__(self) -> Self:
        self._outer.append(self._streams.thread.current)
        self._streams.make_current(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._streams.make_current(self._outer.pop())


class Event:
    """A point in a stream's work."""

    def __init__(self, streams: Streams) -> None:
        self._streams = streams
        created = runtime.cudaEventCreateWithFlags(runtime.cudaEventDisableTiming)
        self.cuda_event = int(check(runtime, "cudaEventCreateWithFlags", created))
        weakref.finalize(self, runtime.cudaEventDestroy, self.cuda_event).atexit = False

    def record(self, stream: Stream | None = None) -> None:
        """Record after the work given to `stream` (the current one by default) so far."""
        handle = (stream or self._streams.thread.current).cuda_stream
        check(runtime, "cudaEventRecord", runtime.cudaEventRecord(self.cuda_event, handle))

    def wait(self, stream: Stream | None = None) -> None:
        """Let later work of `stream` (the current one by default) wait for the most recent record."""
        handle = (stream or self._streams.thread.current).cuda_stream
        check(runtime, "cudaStreamWaitEvent", runtime.cudaStreamWaitEvent(handle, self.cuda_event, 0))
        self._streams.changed()

    def query(self) -> bool:
        """Whether the recorded work is done."""
        return _ready("cudaEventQuery", runtime.cudaEventQuery(self.cuda_event))

    def synchronize(self) -> None:
        """Wait on the host for the recorded work."""
        check(runtime, "cudaEventSynchronize", runtime.cudaEventSynchronize(self.cuda_event))


def _ready(call: str, result: tuple[Any, ...]) -> bool:
    if result[0] == runtime.cudaError_t.cudaErrorNotReady:
        return False
    check(runtime, call, result)
    return True
