# ruff: noqa: N802, N803 - the names are CUDA's
"""CUDA's calls about the device, errors and versions, and the launches of host functions and kernels."""

from __future__ import annotations

from typing import Any

from reference_impl.runtime import captures, scheduler
from reference_impl.runtime.bindings import RUNTIME_VERSION, cudaError_t, error_name, error_string
from reference_impl.runtime.errors import (
    LOCK,
    OK,
    Refusal,
    Results,
    api,
    kernel_failed,
    peek_last_error,
    refused,
    take_last_error,
)
from reference_impl.runtime.executables import host_action
from reference_impl.runtime.kernels import Kernel, KernelCall
from reference_impl.runtime.parameters import host_call
from reference_impl.runtime.streams import find_stream


@api(locked=False)
def cudaDeviceSynchronize() -> None:
    """Wait for all work.  Not permitted while anything captures; the captures are invalidated."""
    with LOCK:
        captures.refuse_any()
    scheduler.finish(None)


@api(1)
def cudaGetDevice() -> Results:
    """The number of the calling thread's device: there is one, number 0."""
    return (0,)


@api()
def cudaSetDevice(device: int) -> None:
    """Choose the device; only 0 is there."""
    if device != 0:
        raise Refusal(cudaError_t.cudaErrorInvalidDevice)


@api(1)
def cudaGetDeviceCount() -> Results:
    """How many devices there are: one."""
    return (1,)


@api(1)
def cudaRuntimeGetVersion() -> Results:
    """The version of the bindings, such as 13020 for 13.2."""
    return (RUNTIME_VERSION,)


@api(1)
def cudaDriverGetVersion() -> Results:
    """The same: the model knows no older driver."""
    return (RUNTIME_VERSION,)


def cudaGetLastError() -> Results:
    """The calling thread's last error, cleared."""
    return (take_last_error(),)


def cudaPeekAtLastError() -> Results:
    """The calling thread's last error, kept."""
    return (peek_last_error(),)


def cudaGetErrorName(error: Any) -> Results:
    """The name of an error code, as bytes."""
    return tuple(error_name(error))


def cudaGetErrorString(error: Any) -> Results:
    """What an error code means, as bytes."""
    return tuple(error_string(error))


@api(locked=False)
def cudaLaunchHostFunc(stream: Any, fn: Any, userData: Any) -> None:
    """Call a C function in the order of a stream."""
    call = host_call(fn, userData)
    with LOCK:
        queue = find_stream(stream)
        capture = captures.of(queue)
        if capture is not None:
            capture.append(queue, call)
            return
    scheduler.submit(queue, host_action(call.function, call.user_data))


def launchKernel(kernel: Kernel, stream: Any) -> Results:
    """Launch a kernel of the software device; the model's own call, named as CUDA's are.

    On a capturing stream it becomes a kernel node, elsewhere work of the stream.  Returns ``(cudaErrorLaunchFailure,)``
    when the kernel ran and raised.
    """
    try:
        queue = find_stream(stream)
        if not captures.live and scheduler.policy.deferred is None:
            # Most launches are these, and users compare them with plain calls.
            memory = [each.acquire() for each in kernel.memory] if kernel.memory else None
            kernel.run()
            del memory
            return OK
        with LOCK:
            capture = captures.of(queue)
            if capture is not None:
                capture.append(queue, KernelCall(kernel))
                return OK
        memory = [each.acquire() for each in kernel.memory]
        scheduler.submit(queue, kernel.run, serial=kernel.serial, memory=memory)
    except Refusal as refusal:
        return (refused(refusal.code),)
    except Exception as failure:
        return (refused(kernel_failed(failure).code),)
    return OK
