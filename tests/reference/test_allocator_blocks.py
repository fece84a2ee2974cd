"""The caching allocator: sizes, splitting, reuse, poison, and frees that wait for streams."""

from __future__ import annotations

import ctypes
import random

import pytest

from reference_impl.allocator import (
    CachingAllocator,
    PoolId,
    graph_pool_handle,
)

from .allocator_kit import MIB, Streams, contents, current, write

# Sizes, splitting, reuse


@pytest.mark.parametrize(
    ("nbytes", "size", "segment", "kind"),
    [
        (1, 512, 2 * MIB, "small"),
        (512, 512, 2 * MIB, "small"),
        (513, 1024, 2 * MIB, "small"),
        (MIB, MIB, 2 * MIB, "small"),
        (MIB + 1, MIB + 512, 20 * MIB, "large"),
        (10 * MIB - 512, 10 * MIB - 512, 20 * MIB, "large"),
        (10 * MIB, 10 * MIB, 10 * MIB, "large"),
        # What is left of a large segment is split off only above 1 MiB.
        (11 * MIB + 3, 12 * MIB, 12 * MIB, "large"),
    ],
)
def test_sizes_are_those_of_torch_cuda(nbytes: int, size: int, segment: int, kind: str) -> None:
    allocator = CachingAllocator()
    block = allocator.allocate(nbytes, 0)
    assert (block.size, block.requested, block.segment.size) == (size, nbytes, segment)
    (described,) = allocator.memory_snapshot()
    assert described["segment_type"] == kind
    assert allocator.memory_reserved() == segment
    assert allocator.memory_allocated() == size


def test_best_fit_takes_the_smallest_hole() -> None:
    allocator = CachingAllocator()
    blocks = [allocator.allocate(nbytes, 0) for nbytes in (4096, 512, 1024, 512, 2048, 512)]
    hole = blocks[2].address
    for index in (0, 2, 4):
        allocator.free(blocks[index])
    assert allocator.allocate(1000, 0).address == hole


def test_neighbours_merge_whatever_the_order_of_frees() -> None:
    rng = random.Random(3)
    for _ in range(20):
        allocator = CachingAllocator()
        blocks = [allocator.allocate(rng.randrange(1, 9000), 0) for _ in range(40)]
        start = blocks[0].segment.address
        rng.shuffle(blocks)
        for block in blocks:
            allocator.free(block)
        (segment,) = allocator.memory_snapshot()
        assert [(b["address"], b["size"]) for b in segment["blocks"]] == [(start, 2 * MIB)]
        assert current(allocator)["inactive_split.all.current"] == 0


def test_memory_is_reused_by_its_own_stream_and_pool_only() -> None:
    allocator = CachingAllocator()
    handle = graph_pool_handle()
    first = allocator.allocate(700, 5)
    address = first.address
    allocator.free(first)
    assert allocator.allocate(700, 6).segment.address != address
    assert allocator.allocate(700, 5, handle).segment.address != address
    assert allocator.allocate(700, 5).address == address


def test_a_null_block_costs_nothing() -> None:
    allocator = CachingAllocator()
    before = allocator.memory_stats()
    block = allocator.allocate(0, 3, (0, 9))
    assert (block.address, block.size, block.stream, block.pool) == (0, 0, 3, (0, 9))
    allocator.free(block)
    allocator.free(block)
    allocator.use_on_stream(block, 4)
    assert allocator.memory_stats() == before


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((-1, 0), ValueError),
        ((1, 0, (1, 1)), ValueError),
        ((1, 0, (0, -1)), ValueError),
        ((1, 0, (0, True)), TypeError),
        ((0, 0, (0,)), TypeError),
    ],
)
def test_wrong_arguments_are_refused(arguments: tuple[int, int, PoolId], error: type[Exception]) -> None:
    allocator = CachingAllocator()
    before = allocator.memory_stats()
    with pytest.raises(error):
        allocator.allocate(*arguments)
    assert allocator.memory_stats() == before


def test_a_second_free_is_refused_even_after_reuse() -> None:
    allocator = CachingAllocator()
    block = allocator.allocate(MIB, 0)
    allocator.free(block)
    again = allocator.allocate(2 * MIB - 512, 0), allocator.allocate(MIB, 0)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="freed before"):
            allocator.free(block)
    assert [b.state for b in again] == ["active_allocated"] * 2


# Poison


@pytest.mark.parametrize("nbytes", [3, 512, 70_001, 3 * MIB + 5, 12 * MIB])
def test_new_and_freed_memory_is_poisoned(nbytes: int) -> None:
    allocator = CachingAllocator()
    block = allocator.allocate(nbytes, 0)
    address, size = block.address, block.size
    assert contents(block) == b"\xff" * size
    write(block, 0)
    allocator.free(block)
    assert ctypes.string_at(address, size) == b"\xff" * size
    ctypes.memset(address, 7, size)  # a stale writer, such as another graph's replay
    again = allocator.allocate(nbytes, 0)
    assert again.address == address
    assert contents(again) == b"\xff" * size


def test_poison_leaves_the_neighbours_alone() -> None:
    allocator = CachingAllocator()
    left, middle, right = (allocator.allocate(600, 0) for _ in range(3))
    write(left, 1)
    write(right, 2)
    allocator.free(middle)
    allocator.allocate(1024, 0)
    assert contents(left) == b"\1" * 1024
    assert contents(right) == b"\2" * 1024


def test_a_device_can_put_poison_in_stream_order() -> None:
    calls: list[tuple[int, int, int]] = []
    allocator = CachingAllocator(poison=lambda *call: calls.append(call))
    block = allocator.allocate(600, 4)
    allocator.free(block)
    assert calls == [(calls[0][0], 1024, 4)] * 2


# Other streams


def test_a_free_waits_for_the_other_streams() -> None:
    streams = Streams()
    allocator = CachingAllocator(fence=streams.fence)
    block = allocator.allocate(700, 1)
    address = block.address
    for stream in (1, 2, 3):
        allocator.use_on_stream(block, stream)
    write(block, 5)
    allocator.free(block)
    assert contents(block) == b"\5" * 1024
    assert allocator.memory_allocated() == 0
    assert current(allocator)["active_bytes.all.current"] == 1024
    (segment,) = allocator.memory_snapshot()
    assert segment["blocks"][0]["state"] == "active_pending_free"
    assert (segment["allocated_size"], segment["active_size"]) == (0, 1024)
    streams.idle.add(2)
    assert allocator.allocate(700, 1).address != address
    with pytest.raises(RuntimeError, match="freed before"):
        allocator.free(block)
    with pytest.raises(RuntimeError, match="is freed"):
        allocator.use_on_stream(block, 9)
    streams.idle.add(3)
    again = allocator.allocate(700, 1)
    assert again.address == address
    assert contents(again) == b"\xff" * 1024
    assert allocator.max_memory_allocated() == 2048
    assert allocator.memory_stats()["active_bytes.all.peak"] == 2048


def test_peaks_tell_allocated_from_active() -> None:
    streams = Streams()
    allocator = CachingAllocator(fence=streams.fence)
    for _ in range(3):
        block = allocator.allocate(512, 0)
        allocator.use_on_stream(block, 1)
        allocator.free(block)
    stats = allocator.memory_stats()
    assert stats["allocated_bytes.all.peak"] == 512
    assert stats["allocation.all.peak"] == 1
    assert stats["active_bytes.all.peak"] == 3 * 512
    streams.idle.add(1)
    assert set(current(allocator).values()) == {0, 1, 2 * MIB}
    allocator.reset_peak_memory_stats()
    assert allocator.memory_stats()["active_bytes.all.peak"] == 0
