"""The caching allocator: statistics, snapshots, limits and observers."""

from __future__ import annotations

import pytest
import torch

from reference_impl.allocator import (
    CachingAllocator,
    OutOfMemoryError,
    graph_pool_handle,
    new_pool_id,
)
from reference_impl.allocator.storage import TensorAllocator

from .allocator_kit import MIB, current

# Statistics


def test_statistics_follow_an_allocation_through_its_life() -> None:
    allocator = CachingAllocator()
    empty = current(allocator)
    block = allocator.allocate(700, 0)
    large = allocator.allocate(2 * MIB, 0)
    stats = allocator.memory_stats()
    for key, small, big in [
        ("allocated_bytes", 1024, 2 * MIB),
        ("active_bytes", 1024, 2 * MIB),
        ("requested_bytes", 700, 2 * MIB),
        ("allocation", 1, 1),
        ("active", 1, 1),
        ("segment", 1, 1),
        ("reserved_bytes", 2 * MIB, 20 * MIB),
        ("inactive_split", 1, 1),
        ("inactive_split_bytes", 2 * MIB - 1024, 18 * MIB),
    ]:
        for what in ("current", "peak", "allocated"):
            assert stats[f"{key}.small_pool.{what}"] == small, key
            assert stats[f"{key}.large_pool.{what}"] == big, key
            assert stats[f"{key}.all.{what}"] == small + big, key
        assert stats[f"{key}.all.freed"] == 0
    allocator.free(block)
    allocator.free(large)
    assert allocator.memory_allocated() == 0
    assert allocator.max_memory_allocated() == 2 * MIB + 1024
    allocator.reset_peak_memory_stats()
    assert allocator.max_memory_allocated() == 0
    assert allocator.max_memory_reserved() == 22 * MIB
    allocator.empty_cache()
    assert current(allocator) == empty
    stats = allocator.memory_stats()
    assert stats["requested_bytes.all.freed"] == 2 * MIB + 700
    assert (stats["num_device_alloc"], stats["num_device_free"]) == (2, 2)


def test_the_snapshot_has_torch_cudas_shape() -> None:
    allocator = CachingAllocator(device=3)
    pool = graph_pool_handle()
    block = allocator.allocate(700, 9, pool)
    assert allocator.memory_snapshot() == [
        {
            "device": 3,
            "address": block.address,
            "total_size": 2 * MIB,
            "allocated_size": 1024,
            "active_size": 1024,
            "requested_size": 700,
            "stream": 9,
            "segment_type": "small",
            "segment_pool_id": pool,
            "is_expandable": False,
            "blocks": [
                {
                    "address": block.address,
                    "size": 1024,
                    "requested_size": 700,
                    "state": "active_allocated",
                    "frames": [],
                },
                {
                    "address": block.address + 1024,
                    "size": 2 * MIB - 1024,
                    "requested_size": 0,
                    "state": "inactive",
                    "frames": [],
                },
            ],
        },
    ]


# Limits and observers


def test_the_limit_is_met_by_releasing_cached_segments_first() -> None:
    allocator = CachingAllocator(limit=22 * MIB)
    allocator.free(allocator.allocate(2 * MIB, 0))
    block = allocator.allocate(12 * MIB, 1)
    assert allocator.memory_reserved() == 12 * MIB
    before = current(allocator)
    with pytest.raises(OutOfMemoryError) as error:
        allocator.allocate(11 * MIB, 0)
    for number in (11 * MIB, 12 * MIB, 22 * MIB):
        assert f"{number} bytes" in str(error.value)
    assert current(allocator) == before
    stats = allocator.memory_stats()
    assert (stats["num_ooms"], stats["num_alloc_retries"]) == (1, 2)
    allocator.free(block)
    assert allocator.allocate(11 * MIB, 0).size


def test_a_pool_in_use_is_not_raided_for_room() -> None:
    allocator = CachingAllocator(limit=20 * MIB)
    pool = new_pool_id()
    allocator.retain_pool(pool)
    allocator.free(allocator.allocate(2 * MIB, 0, pool))
    with pytest.raises(OutOfMemoryError):
        allocator.allocate(1, 0)
    allocator.release_pool(pool)
    assert allocator.allocate(1, 0).size == 512


@pytest.mark.parametrize("nbytes", [1 << 60, 1 << 70])
def test_what_no_machine_has_is_out_of_memory(nbytes: int) -> None:
    allocator = TensorAllocator()
    with pytest.raises(torch.OutOfMemoryError, match="no limit set"):
        allocator.allocate(nbytes, 0)
    assert allocator.memory_reserved() == 0
    assert allocator.allocate(5, 0).size == 512


def test_observers_see_every_segment() -> None:
    calls: list[tuple[int, ...]] = []

    def mapped(address: int, nbytes: int) -> None:
        assert allocator.segment_of(address) is None
        calls.append((address, nbytes))

    allocator = CachingAllocator(on_map=mapped, on_unmap=lambda address: calls.append((address,)))
    block = allocator.allocate(5, 0)
    address = block.segment.address
    allocator.allocate(5, 0)
    assert calls == [(address, 2 * MIB)]
    other = allocator.allocate(5, 1)
    start = other.segment.address
    allocator.free(other)
    allocator.empty_cache()
    assert calls[1:] == [(start, 2 * MIB), (start,)]


def test_an_observer_that_refuses_changes_nothing() -> None:
    def refuse(address: int, nbytes: int) -> None:
        raise RuntimeError(f"no room at {address:#x} for {nbytes}")

    allocator = CachingAllocator(limit=2 * MIB, on_map=refuse)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="no room"):
            allocator.allocate(1, 0)
    assert allocator.memory_reserved() == 0
