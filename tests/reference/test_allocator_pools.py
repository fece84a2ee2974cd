"""The caching allocator: pools, who keeps them, and the ranges that they cover."""

from __future__ import annotations

import threading

import pytest

from reference_impl.allocator import (
    DEFAULT_POOL,
    CachingAllocator,
    PoolId,
    graph_pool_handle,
    new_pool_id,
)

from .allocator_kit import MIB, write


def test_pool_ids_are_unique_across_threads() -> None:
    pools: list[PoolId] = []

    def take() -> None:
        for _ in range(200):
            pools.extend((new_pool_id(), graph_pool_handle()))

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(pools)) == 1600
    assert all((pool[0] == 0) != (pool[1] == 0) for pool in pools)


def test_a_pool_is_recorded_to_once_at_a_time() -> None:
    allocator = CachingAllocator()
    pool = new_pool_id()
    allocator.begin_allocate_to_pool(pool)
    with pytest.raises(RuntimeError, match=r"already being recorded") as error:
        allocator.begin_allocate_to_pool(pool)
    assert str(pool) in str(error.value)
    assert (allocator.recording(pool), allocator.use_count(pool)) == (True, 1)
    allocator.end_allocate_to_pool(pool)
    assert (allocator.recording(pool), allocator.use_count(pool)) == (False, 1)
    with pytest.raises(RuntimeError, match="not being recorded"):
        allocator.end_allocate_to_pool(pool)
    allocator.release_pool(pool)
    with pytest.raises(RuntimeError, match="not in use"):
        allocator.release_pool(pool)
    assert (allocator.use_count(pool), allocator.pools()) == (0, [])


def test_the_default_pool_is_not_counted() -> None:
    allocator = CachingAllocator()
    for call in (allocator.begin_allocate_to_pool, allocator.retain_pool, allocator.release_pool):
        with pytest.raises(RuntimeError, match="expected a private pool"):
            call(DEFAULT_POOL)


def test_memory_of_a_pool_in_use_stays() -> None:
    allocator = CachingAllocator()
    pool = graph_pool_handle()
    allocator.retain_pool(pool)
    allocator.retain_pool(pool)
    live, dead = allocator.allocate(600, 0, pool), allocator.allocate(3 * MIB, 0, pool)
    allocator.free(dead)
    allocator.empty_cache()
    assert allocator.memory_reserved() == 22 * MIB
    allocator.release_pool(pool)
    allocator.empty_cache()
    assert allocator.memory_reserved() == 22 * MIB
    allocator.release_pool(pool)
    assert allocator.memory_reserved() == 22 * MIB
    allocator.empty_cache()
    assert allocator.memory_reserved() == 2 * MIB
    write(live, 1)
    assert allocator.pools() == [pool]
    allocator.free(live)
    allocator.empty_cache()
    assert (allocator.memory_reserved(), allocator.pools()) == (0, [])


def test_an_id_whose_count_fell_to_zero_comes_back_into_use() -> None:
    allocator = CachingAllocator()
    pool = new_pool_id()
    allocator.begin_allocate_to_pool(pool)
    block = allocator.allocate(600, 0, pool)
    allocator.end_allocate_to_pool(pool)
    allocator.release_pool(pool)
    allocator.begin_allocate_to_pool(pool)
    assert allocator.allocate(600, 0, pool).segment is block.segment
    allocator.free(block)
    allocator.empty_cache()
    assert allocator.use_count(pool) == 1
    assert allocator.ranges([pool]) == [(block.segment.address, block.segment.address + block.segment.size)]


def test_ranges_cover_live_and_free_blocks_of_these_pools() -> None:
    allocator = CachingAllocator()
    one, other = new_pool_id(), graph_pool_handle()
    live = allocator.allocate(600, 0, one)
    free = allocator.allocate(2 * MIB, 1, other)
    allocator.allocate(600, 0)
    inside = free.address
    allocator.free(free)
    ranges = allocator.ranges([one, other])
    assert ranges == sorted(ranges)
    assert sorted(end - start for start, end in ranges) == [2 * MIB, 20 * MIB]
    for address in (live.address, inside, inside + 20 * MIB - 1):
        assert any(start <= address < end for start, end in ranges)
        segment = allocator.segment_of(address)
        assert segment is not None
        assert segment.address <= address < segment.address + segment.size
    assert allocator.ranges([]) == []
    assert allocator.segment_of(8) is None
    assert allocator.segment_of(1 << 62) is None
