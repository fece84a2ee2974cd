"""Memory operations act on real memory, and never on memory that was not registered."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

import reference_impl.runtime as rt

from .software_kit import E, capturing, code, instantiate, memset, memset_params, nodes, ok, stream

DEFAULT = rt.cudaMemcpyKind.cudaMemcpyDefault
NOWHERE = 0x1234000


def read(address: int, nbytes: int) -> bytes:
    return ctypes.string_at(address, nbytes)


def template() -> Any:
    return ok(rt.cudaGraphCreate(0))


def test_fresh_memory_is_poison() -> None:
    address = ok(rt.cudaMalloc(1000))
    assert address % 256 == 0
    assert read(address, 1000) == b"\xff" * 1000
    assert rt.cudaMalloc(0) == (E.cudaSuccess, 0)
    assert rt.cudaMalloc(1 << 50) == (E.cudaErrorMemoryAllocation, None)


def test_fills_and_copies() -> None:
    address = ok(rt.cudaMalloc(256))
    ok(rt.cudaMemset(address, 0x1AB, 8))
    ok(rt.cudaMemcpy(address + 16, address, 4, DEFAULT))
    ok(rt.cudaMemset2D(address + 32, 8, 1, 2, 3))
    assert read(address, 56) == (
        b"\xab" * 8
        + b"\xff" * 8
        + b"\xab" * 4
        + b"\xff" * 12
        + (b"\x01" * 2 + b"\xff" * 6) * 2
        + b"\x01\x01"
        + b"\xff" * 6
    )


@pytest.mark.parametrize(("size", "element"), [(1, b"\x04"), (2, b"\x04\x03"), (4, b"\x04\x03\x02\x01")])
def test_memset_nodes_write_elements_in_rows(size: int, element: bytes) -> None:
    address, graph = ok(rt.cudaMalloc(256)), template()
    memset(graph, memset_params(address, 0x01020304, 3, elementSize=size, height=2, pitch=32))
    executable = instantiate(graph)
    assert read(address, 64) == b"\xff" * 64
    ok(rt.cudaGraphLaunch(executable, 0))
    row = element * 3 + b"\xff" * (32 - 3 * size)
    assert read(address, 64) == row * 2


@pytest.mark.parametrize(
    "change",
    [
        {"elementSize": 3},
        {"width": 0},
        {"height": 0},
        {"height": 2, "pitch": 8},
        {"dst": 0},
        {"dst": NOWHERE},
        {"width": 1 << 40},
        {"width": 257},
    ],
)
def test_refused_memset_nodes(change: dict[str, int]) -> None:
    graph, params = template(), memset_params(ok(rt.cudaMalloc(256)))
    for name, number in change.items():
        setattr(params, name, number)
    assert rt.cudaGraphAddMemsetNode(graph, None, 0, params) == (E.cudaErrorInvalidValue, None)
    assert nodes(graph) == []


def test_misaligned_elements_are_refused() -> None:
    params = memset_params(ok(rt.cudaMalloc(256)) + 1, elementSize=4)
    assert code(rt.cudaGraphAddMemsetNode(template(), None, 0, params)) == E.cudaErrorInvalidValue


def test_copies_of_rows_and_slices() -> None:
    address, graph = ok(rt.cudaMalloc(1024)), template()
    for offset in range(64):
        ok(rt.cudaMemset(address + offset, offset, 1))
    params = rt.cudaMemcpy3DParms()
    params.srcPtr = rt.make_cudaPitchedPtr(address, 8, 8, 4)
    params.srcPos = rt.make_cudaPos(1, 1, 0)
    params.dstPtr = rt.make_cudaPitchedPtr(address + 512, 16, 16, 2)
    params.extent = rt.make_cudaExtent(3, 2, 2)
    params.kind = DEFAULT
    node = ok(rt.cudaGraphAddMemcpyNode(graph, None, 0, params))
    ok(rt.cudaGraphLaunch(instantiate(graph), 0))
    gap = b"\xff" * 13
    rows = [bytes((9, 10, 11)), bytes((17, 18, 19)), bytes((41, 42, 43)), bytes((49, 50, 51))]
    assert read(address + 512, 64) == b"".join(row + gap for row in rows)
    actual = ok(rt.cudaGraphMemcpyNodeGetParams(node))
    assert (actual.extent.width, actual.extent.height, actual.extent.depth) == (3, 2, 2)
    params.extent = rt.make_cudaExtent(3, 2, 64)
    assert code(rt.cudaGraphAddMemcpyNode(graph, None, 0, params)) == E.cudaErrorInvalidValue
    assert code(rt.cudaGraphAddMemcpyNode(graph, None, 0, rt.cudaMemcpy3DParms())) == E.cudaErrorInvalidValue


def test_unknown_memory_is_refused_everywhere() -> None:
    address, s = ok(rt.cudaMalloc(64)), stream()
    for answer in (
        rt.cudaMemset(NOWHERE, 0, 16),
        rt.cudaMemset(address, 0, 65),
        rt.cudaMemset(address - 1, 0, 2),
        rt.cudaMemsetAsync(address, 0, 1 << 40, s),
        rt.cudaMemcpy(address, NOWHERE, 16, DEFAULT),
        rt.cudaMemcpyAsync(NOWHERE, address, 16, DEFAULT, s),
        rt.cudaGraphAddMemcpyNode1D(template(), None, 0, address, NOWHERE, 16, DEFAULT),
        rt.cudaFree(NOWHERE),
        rt.cudaFree(address + 1),
    ):
        assert code(answer) == E.cudaErrorInvalidValue


def test_nothing_to_do_is_no_error() -> None:
    address, s = ok(rt.cudaMalloc(64)), stream()
    ok(rt.cudaMemset(0, 0, 0))
    ok(rt.cudaMemcpy(0, 0, 0, DEFAULT))
    with capturing(s) as templates:
        ok(rt.cudaMemsetAsync(address, 0, 0, s))
        ok(rt.cudaMemcpyAsync(address, address, 0, DEFAULT, s))
    assert nodes(templates[0]) == []
    assert rt.cudaFree(0) == (E.cudaSuccess,)


def test_memory_that_vanished_fails_the_launch() -> None:
    address, graph = ok(rt.cudaMalloc(64)), template()
    memset(graph, memset_params(address))
    executable = instantiate(graph)
    ok(rt.cudaGraphLaunch(executable, 0))
    ok(rt.cudaFree(address))
    assert code(rt.cudaFree(address)) == E.cudaErrorInvalidValue
    assert code(rt.cudaGraphLaunch(executable, 0)) == E.cudaErrorIllegalAddress
    ok(rt.cudaDeviceSynchronize())


def test_captured_memory_operations_become_nodes() -> None:
    address, s = ok(rt.cudaMalloc(64)), stream()
    with capturing(s) as templates:
        ok(rt.cudaMemsetAsync(address, 3, 8, s))
        ok(rt.cudaMemcpyAsync(address + 8, address, 8, DEFAULT, s))
        assert rt.cudaMallocAsync(16, s) == (E.cudaErrorNotSupported, None)
        assert code(rt.cudaFreeAsync(address, s)) == E.cudaErrorInvalidValue
    assert read(address, 16) == b"\xff" * 16
    ok(rt.cudaGraphLaunch(instantiate(templates[0]), s))
    assert read(address, 17) == b"\x03" * 16 + b"\xff"


def test_announced_memory() -> None:
    class Owner:
        pass

    import weakref

    block, owner = (ctypes.c_char * 32)(), Owner()
    address, died = ctypes.addressof(block), weakref.ref(owner)
    rt.register_memory(address, 32, owner)
    del owner
    ok(rt.cudaMemset(address, 65, 32))
    assert bytes(block) == b"A" * 32
    assert died() is not None
    assert code(rt.cudaMemset(address, 65, 33)) == E.cudaErrorInvalidValue
    rt.unregister_memory(address)
    assert died() is None
    assert code(rt.cudaMemset(address, 65, 32)) == E.cudaErrorInvalidValue
    with pytest.raises(KeyError):
        rt.unregister_memory(address)
    with pytest.raises(ValueError, match="positive"):
        rt.register_memory(0, 32)


def test_nested_ranges_are_all_known() -> None:
    block = (ctypes.c_char * 4096)()
    address = ctypes.addressof(block)
    for start, nbytes in ((0, 4096), (1024, 16), (1032, 8), (2048, 4)):
        rt.register_memory(address + start, nbytes)
    ok(rt.cudaMemset(address + 1040, 1, 2000))
    ok(rt.cudaMemset(address + 1024, 1, 3072))
    assert code(rt.cudaMemset(address + 1024, 1, 3073)) == E.cudaErrorInvalidValue
    rt.unregister_memory(address)
    assert code(rt.cudaMemset(address + 1040, 1, 8)) == E.cudaErrorInvalidValue
    ok(rt.cudaMemset(address + 1032, 1, 8))
    for start in (1024, 1032, 2048):
        rt.unregister_memory(address + start)


def test_registered_host_memory() -> None:
    block = (ctypes.c_char * 64)()
    address, device = ctypes.addressof(block), ok(rt.cudaMalloc(64))
    assert code(rt.cudaMemcpy(device, address, 64, DEFAULT)) == E.cudaErrorInvalidValue
    ok(rt.cudaHostRegister(address, 64, rt.cudaHostRegisterDefault))
    assert code(rt.cudaHostRegister(address + 8, 8, 0)) == E.cudaErrorHostMemoryAlreadyRegistered
    ok(rt.cudaMemcpy(device, address, 64, DEFAULT))
    assert read(device, 64) == bytes(64)
    ok(rt.cudaHostUnregister(address))
    assert code(rt.cudaHostUnregister(address)) == E.cudaErrorHostMemoryNotRegistered
    assert code(rt.cudaHostRegister(address, 0, 0)) == E.cudaErrorInvalidValue


def test_allocations_come_back() -> None:
    before, s = rt.live_counts()["allocations"], stream()
    first, second = ok(rt.cudaMalloc(64)), ok(rt.cudaMallocAsync(64, s))
    assert rt.live_counts()["allocations"] == before + 2
    ok(rt.cudaFree(first))
    ok(rt.cudaFreeAsync(second, s))
    assert code(rt.cudaFreeAsync(second, s)) == E.cudaErrorInvalidValue
    assert rt.live_counts()["allocations"] == before
