# ruff: noqa: N802, N803 - the names are CUDA's
"""CUDA's stream and event calls."""

from __future__ import annotations

from typing import Any

from reference_impl.runtime import captures, scheduler
from reference_impl.runtime.bindings import (
    cudaError_t,
    cudaEvent_t,
    cudaEventDisableTiming,
    cudaEventInterprocess,
    cudaEventRecordExternal,
    cudaEventWaitExternal,
    cudaStream_t,
    cudaStreamCaptureStatus,
    cudaStreamNonBlocking,
)
from reference_impl.runtime.errors import LOCK, Refusal, Results, api
from reference_impl.runtime.results import edge_data, node_handles, template_handle
from reference_impl.runtime.streams import Event, Stream, events, find_event, find_stream, streams
from reference_impl.runtime.templates import EventRecord, EventWait

GREATEST_PRIORITY = -5
_EVENT_FLAGS = 7


def _create_stream(flags: int, priority: int) -> Results:
    if flags not in (0, cudaStreamNonBlocking):
        raise Refusal(cudaError_t.cudaErrorInvalidValue)
    stream = Stream(streams.reserve(), flags=flags, priority=min(0, max(GREATEST_PRIORITY, priority)))
    streams.add(stream.handle, stream)
    return (cudaStream_t(init_value=stream.handle),)


@api(1)
def cudaStreamCreate() -> Results:
    """A blocking stream: it and the legacy default stream wait for each other."""
    return _create_stream(0, 0)


@api(1)
def cudaStreamCreateWithFlags(flags: int) -> Results:
    """A stream; cudaStreamNonBlocking keeps it apart from the legacy default stream."""
    return _create_stream(int(flags), 0)


@api(1)
def cudaStreamCreateWithPriority(flags: int, priority: int) -> Results:
    """A stream with a priority, clamped to what the device has; it changes no order here."""
    return _create_stream(int(flags), int(priority))


@api()
def cudaStreamDestroy(stream: Any) -> None:
    """Destroy a created stream.  Pending work still runs; a capture that began on it is dropped."""
    queue = streams.find(stream)
    if queue is None:
        raise Refusal(cudaError_t.cudaErrorInvalidResourceHandle)
    if queue.capture is not None:
        queue.capture.leave(queue)
    streams.remove(queue.handle)


@api(locked=False)
def cudaStreamSynchronize(stream: Any) -> None:
    """Wait for all work of a stream.  Not permitted on a capturing stream, whose capture it breaks."""
    with LOCK:
        queue = find_stream(stream)
        captures.refuse_waiting(queue)
        tasks = scheduler.predecessors(queue)
    scheduler.finish(tasks)


@api(locked=False)
def cudaStreamQuery(stream: Any) -> None:
    """cudaSuccess, or cudaErrorNotReady while work is pending.  Restricted as waiting is."""
    with LOCK:
        queue = find_stream(stream)
        captures.refuse_waiting(queue)
        tasks = scheduler.predecessors(queue)
    if not scheduler.poll(tasks):
        raise Refusal(cudaError_t.cudaErrorNotReady)


@api()
def cudaStreamWaitEvent(stream: Any, event: Any, flags: int = 0) -> None:
    """Let later work wait for the latest record of an event, which may bring a stream into a capture."""
    queue, mark = find_stream(stream), find_event(event)
    if flags not in (0, cudaEventWaitExternal):
        raise Refusal(cudaError_t.cudaErrorInvalidValue)
    if flags == cudaEventWaitExternal:
        capture = captures.of(queue)
        if capture is None:
            raise Refusal(cudaError_t.cudaErrorIllegalState)
        capture.append(queue, EventWait(mark))
    elif not captures.wait(queue, mark):
        scheduler.wait(queue, mark)


@api(1)
def cudaStreamIsCapturing(stream: Any) -> Results:
    """The cudaStreamCaptureStatus; cudaErrorStreamCaptureImplicit where the legacy stream cannot say."""
    return (_status(_inspect(stream)),)


@api(6)
def cudaStreamGetCaptureInfo(stream: Any) -> Results:
    """Status, capture id, template, dependencies of the next node, their edge data, their number."""
    queue = _inspect(stream)
    capture = queue.capture
    if capture is None or not capture.valid:
        return (_status(queue), 0, template_handle(None), [], [], 0)
    waits = [each for each in capture.streams[queue] if each.handle in capture.template.nodes]
    return (
        _status(queue),
        capture.identity,
        template_handle(capture.template),
        node_handles(waits),
        edge_data(len(waits)),
        len(waits),
    )


def _inspect(stream: Any) -> Stream:
    queue = find_stream(stream)
    if captures.implicit(queue):
        # Looking does no harm, so unlike work it leaves the captures valid.
        raise Refusal(cudaError_t.cudaErrorStreamCaptureImplicit)
    return queue


def _status(stream: Stream) -> Any:
    if stream.capture is None:
        return cudaStreamCaptureStatus.cudaStreamCaptureStatusNone
    if stream.capture.valid:
        return cudaStreamCaptureStatus.cudaStreamCaptureStatusActive
    return cudaStreamCaptureStatus.cudaStreamCaptureStatusInvalidated


@api(1)
def cudaStreamGetId(hStream: Any) -> Results:
    """A number that no other stream of the process has or had."""
    return (find_stream(hStream).identity,)


@api(1)
def cudaStreamGetFlags(hStream: Any) -> Results:
    """The flags of its creation."""
    return (find_stream(hStream).flags,)


@api(1)
def cudaStreamGetPriority(hStream: Any) -> Results:
    """The priority of its creation, as clamped."""
    return (find_stream(hStream).priority,)


@api(1)
def cudaStreamGetDevice(hStream: Any) -> Results:
    """The number of the only device."""
    find_stream(hStream)
    return (0,)


@api(1)
def cudaEventCreate() -> Results:
    """An event that was never recorded."""
    return _create_event(0)


@api(1)
def cudaEventCreateWithFlags(flags: int) -> Results:
    """An event that was never recorded.  cudaEventInterprocess needs cudaEventDisableTiming, and does nothing here."""
    return _create_event(int(flags))


def _create_event(flags: int) -> Results:
    timed = not flags & cudaEventDisableTiming
    if flags & ~_EVENT_FLAGS or (flags & cudaEventInterprocess and timed):
        raise Refusal(cudaError_t.cudaErrorInvalidValue)
    event = Event(events.reserve(), flags)
    events.add(event.handle, event)
    return (cudaEvent_t(init_value=event.handle),)


@api()
def cudaEventDestroy(event: Any) -> None:
    """Destroy an event.  Waits that were made on it stay."""
    events.remove(find_event(event).handle)


@api()
def cudaEventRecord(event: Any, stream: Any) -> None:
    """Let an event mark what a stream has to do until now."""
    _record(find_event(event), find_stream(stream), 0)


@api()
def cudaEventRecordWithFlags(event: Any, stream: Any, flags: int) -> None:
    """The same; cudaEventRecordExternal makes it a node of the stream's capture."""
    _record(find_event(event), find_stream(stream), int(flags))


def _record(event: Event, stream: Stream, flags: int) -> None:
    if flags not in (0, cudaEventRecordExternal):
        raise Refusal(cudaError_t.cudaErrorInvalidValue)
    capture = captures.of(stream)
    if flags == cudaEventRecordExternal:
        if capture is None:
            raise Refusal(cudaError_t.cudaErrorIllegalState)
        capture.append(stream, EventRecord(event))
    elif capture is not None:
        event.captured = (capture, tuple(node.handle for node in capture.streams[stream]))
        event.work = None
    else:
        scheduler.record(stream, event)


@api(locked=False)
def cudaEventSynchronize(event: Any) -> None:
    """Wait for what an event marks; a never recorded one marks nothing."""
    with LOCK:
        mark = find_event(event)
        captures.refuse_captured(mark)
        captures.refuse_unsafe()
    scheduler.finish(mark.work or ())


@api(1)
def cudaEventElapsedTime(start: Any, end: Any) -> Results:
    """Milliseconds between what two events mark."""
    marks = find_event(start), find_event(end)
    times = []
    for mark in marks:
        captures.refuse_captured(mark)
        if not mark.timed or mark.work is None:
            raise Refusal(cudaError_t.cudaErrorInvalidResourceHandle)
        if mark.stamp.time is None:
            raise Refusal(cudaError_t.cudaErrorNotReady)
        times.append(mark.stamp.time)
    return ((times[1] - times[0]) / 1e6,)


@api(locked=False)
def cudaEventQuery(event: Any) -> None:
    """cudaSuccess, or cudaErrorNotReady while what an event marks is pending."""
    with LOCK:
        mark = find_event(event)
        captures.refuse_captured(mark)
        captures.refuse_unsafe()
    if not scheduler.poll(mark.work or ()):
        raise Refusal(cudaError_t.cudaErrorNotReady)
