# ruff: noqa: N802, N803 - the names are CUDA's
"""CUDA's calls that allocate, fill and copy memory."""

from __future__ import annotations

from typing import Any

from reference_impl.runtime import captures, scheduler
from reference_impl.runtime.bindings import cudaError_t
from reference_impl.runtime.errors import LOCK, Refusal, Results, api
from reference_impl.runtime.handles import as_int
from reference_impl.runtime.memory import Area, Copy, Fill, Range, allocate, allocations, host_registered, release
from reference_impl.runtime.parameters import linear_copy
from reference_impl.runtime.streams import Stream, find_stream, legacy

_HOST_FLAGS = 0xF


@api(1)
def cudaMalloc(size: int) -> Results:
    """Memory full of poison; address 0 for size 0.  Unsafe while a capture prohibits it."""
    if size:
        captures.refuse_unsafe()
    return (allocate(int(size)),)


@api(locked=False)
def cudaFree(devPtr: Any) -> None:
    """Give memory back when all work is done.  Unsafe while a capture prohibits it."""
    with LOCK:
        captures.refuse_unsafe()
    scheduler.finish(None)
    with LOCK:
        release(as_int(devPtr))


@api(1)
def cudaMallocAsync(size: int, hStream: Any) -> Results:
    """Memory for use in the order of a stream.  In a capture it would be a node that is not modelled."""
    stream = find_stream(hStream)
    if size == 0:
        return (0,)
    if captures.of(stream) is not None:
        raise Refusal(cudaError_t.cudaErrorNotSupported)
    captures.refuse_unsafe()
    return (allocate(int(size)),)


@api(locked=False)
def cudaFreeAsync(devPtr: Any, hStream: Any) -> None:
    """Give memory back in the order of a stream."""
    address = as_int(devPtr)
    with LOCK:
        stream = find_stream(hStream)
        if address == 0:
            return
        if captures.of(stream) is not None or address not in allocations or address in _leaving:
            raise Refusal(cudaError_t.cudaErrorInvalidValue)
        _leaving.add(address)
    scheduler.submit(stream, lambda: _release_leaving(address))


# Freed in the order of a stream that has not come that far yet.
_leaving: set[int] = set()


def _release_leaving(address: int) -> None:
    with LOCK:
        _leaving.discard(address)
        release(address)


def _perform(stream: Stream, work: Fill | Copy | None) -> None:
    """Record a memory operation in the stream's capture, or hand it to the scheduler."""
    if work is None:
        return
    with LOCK:
        capture = captures.of(stream)
        if capture is not None:
            work.check()
            capture.append(stream, work)
            return
        work.check()
    scheduler.submit(stream, work)


def _perform_and_wait(work: Fill | Copy | None) -> None:
    """The same on the legacy stream, finished on return."""
    with LOCK:
        captures.refuse_implicit(legacy)
    _perform(legacy, work)
    scheduler.finish(scheduler.predecessors(legacy))


def _fill(address: Any, value: int, width: int, height: int = 1, pitch: int = 0) -> Fill | None:
    if width == 0 or height == 0:
        return None
    return Fill(Area(as_int(address), int(width), int(height), pitch=int(pitch)), int(value) & 0xFF)


def _copy(dst: Any, src: Any, count: int, kind: Any) -> Copy | None:
    return linear_copy(dst, src, count, kind) if count else None


@api(locked=False)
def cudaMemset(devPtr: Any, value: int, count: int) -> None:
    """Fill memory with a byte, on the legacy stream, and wait for it."""
    _perform_and_wait(_fill(devPtr, value, count))


@api(locked=False)
def cudaMemset2D(devPtr: Any, pitch: int, value: int, width: int, height: int) -> None:
    """Fill rows of memory with a byte, on the legacy stream, and wait for it."""
    _perform_and_wait(_fill(devPtr, value, width, height, pitch))


@api(locked=False)
def cudaMemsetAsync(devPtr: Any, value: int, count: int, stream: Any) -> None:
    """Fill memory with a byte in the order of a stream; nothing at all for no bytes."""
    _perform(find_stream(stream), _fill(devPtr, value, count))


@api(locked=False)
def cudaMemset2DAsync(devPtr: Any, pitch: int, value: int, width: int, height: int, stream: Any) -> None:
    """Fill rows of memory with a byte in the order of a stream."""
    _perform(find_stream(stream), _fill(devPtr, value, width, height, pitch))


@api(locked=False)
def cudaMemcpy(dst: Any, src: Any, count: int, kind: Any) -> None:
    """Copy memory on the legacy stream, and wait for it."""
    _perform_and_wait(_copy(dst, src, count, kind))


@api(locked=False)
def cudaMemcpyAsync(dst: Any, src: Any, count: int, kind: Any, stream: Any) -> None:
    """Copy memory in the order of a stream; nothing at all for no bytes."""
    _perform(find_stream(stream), _copy(dst, src, count, kind))


@api()
def cudaHostRegister(ptr: Any, size: int, flags: int) -> None:
    """Let memory operations reach `size` bytes of the process.  The caller keeps them valid."""
    captures.refuse_unsafe()
    address = as_int(ptr)
    if address <= 0 or size <= 0 or int(flags) & ~_HOST_FLAGS:
        raise Refusal(cudaError_t.cudaErrorInvalidValue)
    if host_registered.overlaps(address, int(size)):
        raise Refusal(cudaError_t.cudaErrorHostMemoryAlreadyRegistered)
    host_registered.add(Range(address, int(size), None))


@api()
def cudaHostUnregister(ptr: Any) -> None:
    """Forget a range that `cudaHostRegister` was given the start of."""
    captures.refuse_unsafe()
    if host_registered.remove(as_int(ptr)) is None:
        raise Refusal(cudaError_t.cudaErrorHostMemoryNotRegistered)
