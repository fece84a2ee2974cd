"""Streams and events, and how their handles are looked up."""

from __future__ import annotations

import threading
import time
from itertools import count
from typing import TYPE_CHECKING, Any

from reference_impl.runtime.bindings import cudaError_t, cudaEventDisableTiming, cudaStreamLegacy, cudaStreamPerThread
from reference_impl.runtime.errors import Refusal
from reference_impl.runtime.handles import HandleTable, as_int

if TYPE_CHECKING:
    from reference_impl.runtime.captures import Capture
    from reference_impl.runtime.scheduler import Task

_ids = count(1)


class Stream:
    """A queue of work.

    `tail` is the unfinished work that whatever comes next waits for; `capture` the capture that the stream takes part
    in.  A blocking stream and the legacy stream wait for each other's work.
    """

    __slots__ = ("__weakref__", "capture", "flags", "handle", "identity", "legacy", "priority", "tail")

    def __init__(self, handle: int, *, flags: int = 0, priority: int = 0, legacy: bool = False) -> None:
        self.handle = handle
        self.flags = flags
        self.priority = priority
        self.legacy = legacy
        self.identity = next(_ids)
        self.capture: Capture | None = None
        self.tail: tuple[Task, ...] = ()

    @property
    def blocking(self) -> bool:
        return not self.flags and not self.legacy


class Stamp:
    """The time, in nanoseconds, at which a record was reached; None before."""

    __slots__ = ("time",)

    def __init__(self) -> None:
        self.time: int | None = None

    def __call__(self) -> None:
        self.time = time.perf_counter_ns()


class Event:
    """A mark in a stream.

    `work` is what had to finish at the latest record outside of a capture, None before the first; `captured` the
    capture of the latest record, when that was inside of one, with the handles of the nodes it marks (handles, so that
    an event keeps no node and no kernel alive); `stamp` the time of the latest record that is not of a capture.
    """

    __slots__ = ("captured", "flags", "handle", "stamp", "work")

    def __init__(self, handle: int, flags: int) -> None:
        self.handle = handle
        self.flags = flags
        self.work: tuple[Task, ...] | None = None
        self.captured: tuple[Capture, tuple[int, ...]] | None = None
        self.stamp = Stamp()

    @property
    def timed(self) -> bool:
        return not self.flags & cudaEventDisableTiming


class _PerThread(threading.local):
    def __init__(self) -> None:
        self.stream = Stream(cudaStreamPerThread)


streams: HandleTable[Stream] = HandleTable()
events: HandleTable[Event] = HandleTable()
legacy = Stream(cudaStreamLegacy, legacy=True)
_per_thread = _PerThread()


def find_stream(handle: Any) -> Stream:
    """The stream behind a handle.  Refuses a stale or foreign one with cudaErrorInvalidResourceHandle."""
    stream = streams.find(handle)
    if stream is not None:
        return stream
    number = as_int(handle)
    if number in (0, cudaStreamLegacy):
        return legacy
    if number == cudaStreamPerThread:
        return _per_thread.stream
    raise Refusal(cudaError_t.cudaErrorInvalidResourceHandle)


def find_event(handle: Any) -> Event:
    """The event behind a handle.  Refuses a stale or foreign one with cudaErrorInvalidResourceHandle."""
    event = events.find(handle)
    if event is None:
        raise Refusal(cudaError_t.cudaErrorInvalidResourceHandle)
    return event
