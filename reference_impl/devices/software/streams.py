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
    """A point in a stream's work.

    Args:
        streams: of the device.
        enable_timing: whether `elapsed_time` can be asked.
        blocking, interprocess: change nothing on this device.
        external: whether records and waits in a capture are nodes of its graph, rather than edges.
    """

    def __init__(
        self,
        streams: Streams,
        *,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ) -> None:
        self._streams = streams
        self._timed = enable_timing
        self._external = external
        flags = 0 if enable_timing else runtime.cudaEventDisableTiming
        flags |= runtime.cudaEventBlockingSync if blocking else 0
        flags |= runtime.cudaEventInterprocess if interprocess else 0
        created = runtime.cudaEventCreateWithFlags(flags)
        self.cuda_event = int(check(runtime, "cudaEventCreateWithFlags", created))
        weakref.finalize(self, runtime.cudaEventDestroy, self.cuda_event).atexit = False

    def record(self, stream: Stream | None = None) -> None:
        """Record after the work given to `stream` (the current one by default) so far."""
        queue = stream or self._streams.thread.current
        if self._external and queue.is_capturing():
            flags = runtime.cudaEventRecordExternal
            result = runtime.cudaEventRecordWithFlags(self.cuda_event, queue.cuda_stream, flags)
            check(runtime, "cudaEventRecordWithFlags", result)
        else:
            check(runtime, "cudaEventRecord", runtime.cudaEventRecord(self.cuda_event, queue.cuda_stream))

    def wait(self, stream: Stream | None = None) -> None:
        """Let later work of `stream` (the current one by default) wait for the most recent record."""
        queue = stream or self._streams.thread.current
        flags = runtime.cudaEventWaitExternal if self._external and queue.is_capturing() else 0
        check(runtime, "cudaStreamWaitEvent", runtime.cudaStreamWaitEvent(queue.cuda_stream, self.cuda_event, flags))
        self._streams.changed()

    def query(self) -> bool:
        """Whether the recorded work is done."""
        return _ready("cudaEventQuery", runtime.cudaEventQuery(self.cuda_event))

    def synchronize(self) -> None:
        """Wait on the host for the recorded work."""
        check(runtime, "cudaEventSynchronize", runtime.cudaEventSynchronize(self.cuda_event))

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event's latest record to that of `end_event`.

        Raises:
            ValueError: one of the two was made without ``enable_timing=True``.
            DeviceError: one of the two was not recorded, or is not reached yet.
        """
        if not (self._timed and end_event._timed):
            raise ValueError("elapsed_time(): both events must be made with enable_timing=True")
        result = runtime.cudaEventElapsedTime(self.cuda_event, end_event.cuda_event)
        return float(check(runtime, "cudaEventElapsedTime", result))


def _ready(call: str, result: tuple[Any, ...]) -> bool:
    if result[0] == runtime.cudaError_t.cudaErrorNotReady:
        return False
    check(runtime, call, result)
    return True
