"""Between the parameter structs of the bindings and the payloads of nodes."""

from __future__ import annotations

from typing import Any

from reference_impl.runtime.bindings import (
    cudaError_t,
    cudaHostFn_t,
    cudaHostNodeParams,
    cudaKernelNodeParams,
    cudaMemcpy3DParms,
    cudaMemcpyKind,
    cudaMemsetParams,
    make_cudaExtent,
    make_cudaPitchedPtr,
)
from reference_impl.runtime.errors import Refusal
from reference_impl.runtime.handles import as_int
from reference_impl.runtime.kernels import KernelCall, find_kernel
from reference_impl.runtime.memory import Area, Copy, Fill
from reference_impl.runtime.templates import HostCall


def fill_from(params: Any) -> Fill:
    """A checked memset from cudaMemsetParams."""
    if params is None:
        raise Refusal(cudaError_t.cudaErrorInvalidValue)
    element, width, height = int(params.elementSize), int(params.width), int(params.height)
    area = Area(as_int(params.dst), width * element, height, pitch=int(params.pitch))
    fill = Fill(area, int(params.value), element)
    fill.check()
    return fill


def fill_params(fill: Fill) -> Any:
    """The cudaMemsetParams of a memset."""
    params = cudaMemsetParams()
    params.dst = fill.area.address
    params.pitch = fill.area.pitch
    params.value = fill.value
    params.elementSize = fill.element_size
    params.width = fill.area.width // fill.element_size
    params.height = fill.area.height
    return params


def linear_copy(dst: Any, src: Any, count: int, kind: Any) -> Copy:
    """A memcpy of `count` bytes in a row."""
    try:
        kind = cudaMemcpyKind(kind)
    except ValueError:
        raise Refusal(cudaError_t.cudaErrorInvalidMemcpyDirection) from None
    return Copy(Area(as_int(dst), int(count)), Area(as_int(src), int(count)), kind)


def checked_linear_copy(dst: Any, src: Any, count: int, kind: Any) -> Copy:
    """The same, refused unless a node can have it."""
    copy = linear_copy(dst, src, count, kind)
    copy.check()
    return copy


def copy_from(params: Any) -> Copy:
    """A checked memcpy from cudaMemcpy3DParms over pitched memory; arrays are not modelled."""
    if params is None:
        raise Refusal(cudaError_t.cudaErrorInvalidValue)
    if as_int(params.srcArray) or as_int(params.dstArray):
        raise Refusal(cudaError_t.cudaErrorNotSupported)
    extent = params.extent
    width, height, depth = int(extent.width), int(extent.height), int(extent.depth)

    def area(pointer: Any, position: Any) -> Area:
        pitch = int(pointer.pitch)
        slice_pitch = pitch * int(pointer.ysize)
        start = as_int(pointer.ptr) + int(position.z) * slice_pitch + int(position.y) * pitch + int(position.x)
        if depth > 1 and int(pointer.ysize) < height:
            raise Refusal(cudaError_t.cudaErrorInvalidValue)
        return Area(start, width, height, depth, pitch, slice_pitch)

    copy = Copy(area(params.dstPtr, params.dstPos), area(params.srcPtr, params.srcPos), params.kind, linear=False)
    copy.check()
    return copy


def copy_params(copy: Copy) -> Any:
    """The cudaMemcpy3DParms of a memcpy."""

    def pointer(area: Area) -> Any:
        rows = area.slice_pitch // area.pitch if area.pitch else 0
        return make_cudaPitchedPtr(area.address, area.pitch, area.pitch, rows)

    params = cudaMemcpy3DParms()
    params.dstPtr = pointer(copy.destination)
    params.srcPtr = pointer(copy.source)
    params.extent = make_cudaExtent(copy.source.width, copy.source.height, copy.source.depth)
    params.kind = copy.kind
    return params


def host_from(params: Any) -> HostCall:
    """A host call from cudaHostNodeParams."""
    if params is None:
        raise Refusal(cudaError_t.cudaErrorInvalidValue)
    return host_call(params.fn, params.userData)


def host_call(function: Any, user_data: Any) -> HostCall:
    """A call of the C function at an address; the null address is refused."""
    if not as_int(function):
        raise Refusal(cudaError_t.cudaErrorInvalidValue)
    return HostCall(as_int(function), as_int(user_data))


def host_params(call: HostCall) -> Any:
    """The cudaHostNodeParams of a host call."""
    params = cudaHostNodeParams()
    params.fn = cudaHostFn_t(init_value=call.function)
    params.userData = call.user_data
    return params


def kernel_from(params: Any) -> KernelCall:
    """A kernel call from cudaKernelNodeParams, whose `func` another kernel node reported."""
    call = None if params is None else find_kernel(as_int(params.func))
    if call is None:
        raise Refusal(cudaError_t.cudaErrorInvalidDeviceFunction)
    return call


def kernel_params(call: KernelCall) -> Any:
    """The cudaKernelNodeParams of a kernel call: `func` is its handle, the rest says nothing."""
    params = cudaKernelNodeParams()
    params.func = call.handle
    return params
