"""The caching allocator of the software device."""

import ctypes
import gc
import itertools
import math
import random
import subprocess
import sys
import textwrap
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
)

from reference_impl.allocator import (
    DEFAULT_POOL,
    Block,
    CachingAllocator,
    OutOfMemoryError,
    PoolId,
    graph_pool_handle,
    new_pool_id,
)
from reference_impl.allocator.storage import TensorAllocator, alias

ROOT = Path(__file__).parents[2]
MIB = 1 << 20


def contents(block: Block) -> bytes:
    """All bytes of a block, rounding included."""
    return ctypes.string_at(block.address, block.size)


def write(block: Block, byte: int) -> None:
    """Fill a block, rounding included."""
    ctypes.memset(block.address, byte, block.size)


def current(allocator: CachingAllocator) -> dict[str, int]:
    """The statistics that must return to a baseline."""
    stats = allocator.memory_stats()
    return {key: value for key, value in stats.items() if key.endswith(".current")}


class Streams:
    """Streams whose work is done when told so."""

    def __init__(self) -> None:
        self.done: set[int] = set()

    def fence(self, stream: int) -> Callable[[], bool]:
        return lambda: stream in self.done


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
    wanted = blocks[2].address
    for index in (0, 2, 4):
        allocator.free(blocks[index])
    assert allocator.allocate(1000, 0).address == wanted


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
    streams.done.add(2)
    assert allocator.allocate(700, 1).address != address
    with pytest.raises(RuntimeError, match="freed before"):
        allocator.free(block)
    with pytest.raises(RuntimeError, match="is freed"):
        allocator.use_on_stream(block, 9)
    streams.done.add(3)
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
    streams.done.add(1)
    assert set(current(allocator).values()) == {0, 1, 2 * MIB}
    allocator.reset_peak_memory_stats()
    assert allocator.memory_stats()["active_bytes.all.peak"] == 0


# Pools


def test_pool_ids_are_unique_across_threads() -> None:
    found: list[PoolId] = []

    def take() -> None:
        for _ in range(200):
            found.extend((new_pool_id(), graph_pool_handle()))

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1600
    assert all((pool[0] == 0) != (pool[1] == 0) for pool in found)


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
    kept = allocator.allocate(12 * MIB, 1)
    assert allocator.memory_reserved() == 12 * MIB
    before = current(allocator)
    with pytest.raises(OutOfMemoryError) as error:
        allocator.allocate(11 * MIB, 0)
    for number in (11 * MIB, 12 * MIB, 22 * MIB):
        assert f"{number} bytes" in str(error.value)
    assert current(allocator) == before
    stats = allocator.memory_stats()
    assert (stats["num_ooms"], stats["num_alloc_retries"]) == (1, 2)
    allocator.free(kept)
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
    seen: list[tuple[int, ...]] = []

    def mapped(address: int, nbytes: int) -> None:
        assert allocator.segment_of(address) is None
        seen.append((address, nbytes))

    allocator = CachingAllocator(on_map=mapped, on_unmap=lambda address: seen.append((address,)))
    block = allocator.allocate(5, 0)
    address = block.segment.address
    allocator.allocate(5, 0)
    assert seen == [(address, 2 * MIB)]
    other = allocator.allocate(5, 1)
    start = other.segment.address
    allocator.free(other)
    allocator.empty_cache()
    assert seen[1:] == [(start, 2 * MIB), (start,)]


def test_an_observer_that_refuses_changes_nothing() -> None:
    def refuse(address: int, nbytes: int) -> None:
        raise RuntimeError(f"no room at {address:#x} for {nbytes}")

    allocator = CachingAllocator(limit=2 * MIB, on_map=refuse)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="no room"):
            allocator.allocate(1, 0)
    assert allocator.memory_reserved() == 0


# Storages


def over(storage: torch.UntypedStorage, count: int) -> torch.Tensor:
    """A float tensor over a storage."""
    return torch.empty(0).set_(storage, 0, (count,), (1,))


def floats(allocator: TensorAllocator, count: int) -> tuple[torch.Tensor, Block]:
    """A float tensor on a block of its own."""
    block = allocator.allocate(4 * count, 0)
    storage = allocator.tensor_storage(block)
    return over(storage, count), block


def test_a_storage_owns_its_block() -> None:
    allocator = TensorAllocator()
    tensor, block = floats(allocator, 7)
    assert tensor.data_ptr() == block.address
    assert tensor.untyped_storage().nbytes() == 28
    assert all(math.isnan(value) for value in tensor.tolist())
    view = tensor[2:]
    del tensor
    view.fill_(3)
    assert allocator.memory_allocated() == 512
    other = alias(block.address, 28)
    assert over(other, 7).tolist()[2:] == [3.0] * 5
    with pytest.raises(RuntimeError, match="owning storage already"):
        allocator.tensor_storage(block)
    del view
    assert allocator.memory_allocated() == 0
    assert all(math.isnan(value) for value in over(other, 7).tolist())
    with pytest.raises(RuntimeError, match="freed"):
        allocator.tensor_storage(block)


def test_storages_of_nothing() -> None:
    allocator = TensorAllocator()
    assert allocator.tensor_storage(allocator.allocate(0, 0)).nbytes() == 0
    assert alias(0, 0).nbytes() == 0


def test_a_block_freed_under_its_storage_is_freed_once() -> None:
    allocator = TensorAllocator()
    tensor, block = floats(allocator, 7)
    allocator.free(block)
    again = allocator.allocate(28, 0)
    del tensor
    assert again.state == "active_allocated"
    assert allocator.memory_allocated() == 512


def test_storages_die_inside_a_garbage_collection() -> None:
    allocator = TensorAllocator()
    baseline = current(allocator)
    for _ in range(50):
        cycle: list[object] = [floats(allocator, 300)[0]]
        cycle.append(cycle)
        del cycle
    gc.collect()
    allocator.empty_cache()
    assert current(allocator) == baseline


def test_memory_outlives_the_allocator_for_its_tensors() -> None:
    allocator = TensorAllocator()
    tensor, block = floats(allocator, 9)
    del allocator, block
    gc.collect()
    assert tensor.fill_(2).sum() == 18


def test_a_held_segment_stays_mapped_and_goes_promptly() -> None:
    allocator = TensorAllocator()
    block = allocator.allocate(64, 0)
    address = block.address
    segment = allocator.segment_of(address)
    assert segment is not None
    allocator.free(block)
    del block
    allocator.empty_cache()
    assert allocator.segment_of(address) is None
    values = over(alias(address, 64), 16)
    assert values.fill_(5).sum() == 80
    del values
    gone = weakref.ref(segment)
    gc.disable()
    try:
        del segment
        assert gone() is None
    finally:
        gc.enable()


def test_an_exit_with_live_tensors_is_silent() -> None:
    script = textwrap.dedent(
        """
        import gc, torch
        from reference_impl.allocator.storage import TensorAllocator
        allocator = TensorAllocator()
        def tensor(n):
            storage = allocator.tensor_storage(allocator.allocate(4 * n, 0))
            return torch.empty(0).set_(storage, 0, (n,))
        torch.kept = [tensor(n) for n in range(1, 50)]
        cycle = [tensor(3)]; cycle.append(cycle)
        """,
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_core_does_not_import_torch() -> None:
    script = "import sys, reference_impl.allocator.core as c; sys.exit('torch' in sys.modules)"
    # The package above may import torch, so only this package's path is given.
    probe = (
        "import sys, types; top = types.ModuleType('reference_impl'); "
        "top.__path__ = ['reference_impl']; sys.modules['reference_impl'] = top; " + script
    )
    done = subprocess.run([sys.executable, "-c", probe], cwd=ROOT, check=False)
    assert done.returncode == 0


# Threads and finalizers


def test_threads_return_to_the_baseline() -> None:
    streams = Streams()
    allocator = TensorAllocator(fence=streams.fence)
    baseline = current(allocator)

    def work(seed: int) -> None:
        rng = random.Random(seed)
        held: list[tuple[torch.Tensor, int]] = []
        for step in range(600):
            if held and rng.random() < 0.5:
                tensor, value = held.pop(rng.randrange(len(held)))
                assert bool((tensor == value).all())
            else:
                tensor, block = floats(allocator, rng.randrange(1, 2000))
                held.append((tensor.fill_(seed * 1000 + step), seed * 1000 + step))
                if rng.random() < 0.2:
                    allocator.use_on_stream(block, 1 + rng.randrange(3))
            if step % 100 == 0:
                allocator.empty_cache()
                allocator.memory_snapshot()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(6) as executor:
            list(executor.map(work, range(6)))
    finally:
        sys.setswitchinterval(interval)
    streams.done = {1, 2, 3}
    allocator.empty_cache()
    assert current(allocator) == baseline


def test_finalizers_inside_the_allocator_are_put_off() -> None:
    allocator = TensorAllocator()
    pool = new_pool_id()
    baseline = current(allocator)
    tensor, _ = floats(allocator, 5)
    allocator.retain_pool(pool)
    with allocator._gate:  # as if the collector ran during a change
        del tensor
        allocator.release_pool(pool)
        for call in (lambda: allocator.allocate(1, 0), allocator.memory_stats):
            with pytest.raises(RuntimeError, match="finalizer"):
                call()
    assert allocator.memory_allocated() == 0
    assert allocator.use_count(pool) == 0
    allocator.empty_cache()
    assert current(allocator) == baseline


def test_a_finalizer_does_not_wait_for_another_thread() -> None:
    allocator = TensorAllocator()
    tensors = [floats(allocator, 5)[0]]
    with allocator._gate:
        thread = threading.Thread(target=tensors.clear)
        thread.start()
        thread.join(10)
        assert not thread.is_alive()
    assert allocator.memory_allocated() == 0


# Against a naive model


class AllocatorModel(RuleBasedStateMachine):
    """Random calls; after each, blocks do not overlap and the statistics add up."""

    blocks: Bundle[Block] = Bundle("blocks")
    pools: Bundle[PoolId] = Bundle("pools")

    @initialize(target=pools)
    def start(self) -> PoolId:
        self.streams = Streams()
        self.allocator = CachingAllocator(limit=64 * MIB, fence=self.streams.fence)
        self.live: dict[int, tuple[Block, int, int]] = {}
        self.uses: dict[PoolId, int] = {}
        self.taken = 0
        return DEFAULT_POOL

    @rule(target=pools, own=st.booleans())
    def make_pool(self, own: bool) -> PoolId:
        pool = new_pool_id() if own else graph_pool_handle()
        self.allocator.retain_pool(pool)
        self.uses[pool] = 1
        return pool

    @rule(pool=pools)
    def retain(self, pool: PoolId) -> None:
        if pool != DEFAULT_POOL:
            self.allocator.retain_pool(pool)
            self.uses[pool] += 1

    @rule(pool=pools)
    def release(self, pool: PoolId) -> None:
        if self.uses.get(pool):
            self.allocator.release_pool(pool)
            self.uses[pool] -= 1

    @rule(
        target=blocks,
        nbytes=st.one_of(st.integers(1, 5000), st.integers(1, 6 * MIB), st.just(11 * MIB + 1)),
        stream=st.integers(0, 1),
        pool=pools,
    )
    def allocate(self, nbytes: int, stream: int, pool: PoolId) -> Block | MultipleResults[Block]:
        try:
            block = self.allocator.allocate(nbytes, stream, pool)
        except OutOfMemoryError:
            return multiple()
        self.taken += 1
        assert (block.stream, block.pool, block.requested) == (stream, pool, nbytes)
        assert block.size >= nbytes
        assert ctypes.string_at(block.address, 512) == b"\xff" * 512
        value = self.taken % 251
        write(block, value)
        self.live[block.address] = (block, block.size, value)
        return block

    @rule(block=consumes(blocks), shared=st.booleans())
    def free(self, block: Block, shared: bool) -> None:
        _, size, value = self.live.pop(block.address)
        assert contents(block) == bytes([value]) * size
        if shared:
            self.allocator.use_on_stream(block, 7)
        self.allocator.free(block)

    @rule(done=st.booleans())
    def finish(self, done: bool) -> None:
        self.streams.done = {7} if done else set()

    @rule()
    def empty_cache(self) -> None:
        self.allocator.empty_cache()
        for segment in self.allocator.memory_snapshot():
            pool = segment["segment_pool_id"]
            assert segment["active_size"] or self.uses.get(pool)

    @invariant()
    def live_blocks_do_not_overlap(self) -> None:
        end = 0
        for address, (_, size, _) in sorted(self.live.items()):
            assert address >= end
            end = address + size

    @invariant()
    def segments_are_tiled_by_their_blocks(self) -> None:
        found: set[int] = set()
        for segment in self.allocator.memory_snapshot():
            blocks = segment["blocks"]
            assert blocks[0]["address"] == segment["address"]
            assert sum(block["size"] for block in blocks) == segment["total_size"]
            for left, right in itertools.pairwise(blocks):
                assert left["address"] + left["size"] == right["address"]
                assert (left["state"], right["state"]) != ("inactive", "inactive")
            found |= {b["address"] for b in blocks if b["state"] == "active_allocated"}
        assert found == set(self.live)

    @invariant()
    def statistics_add_up(self) -> None:
        segments = self.allocator.memory_snapshot()
        stats = self.allocator.memory_stats()
        blocks = [block for segment in segments for block in segment["blocks"]]
        pieces = [
            block
            for segment in segments
            for block in segment["blocks"]
            if block["state"] == "inactive" and len(segment["blocks"]) > 1
        ]
        expected = {
            "allocated_bytes": sum(size for _, size, _ in self.live.values()),
            "allocation": len(self.live),
            "active": sum(block["state"] != "inactive" for block in blocks),
            "active_bytes": sum(segment["active_size"] for segment in segments),
            "requested_bytes": sum(segment["requested_size"] for segment in segments),
            "reserved_bytes": sum(segment["total_size"] for segment in segments),
            "segment": len(segments),
            "inactive_split": len(pieces),
            "inactive_split_bytes": sum(block["size"] for block in pieces),
        }
        for name, value in expected.items():
            assert stats[f"{name}.all.current"] == value, name
            for pool in ("all", "small_pool", "large_pool"):
                now, peak, came, went = (
                    stats[f"{name}.{pool}.{what}"] for what in ("current", "peak", "allocated", "freed")
                )
                assert now == came - went
                assert 0 <= now <= peak
            assert value == sum(stats[f"{name}.{pool}.current"] for pool in ("small_pool", "large_pool"))
        assert stats["reserved_bytes.all.current"] <= 64 * MIB

    def teardown(self) -> None:
        self.streams.done = {7}
        for block, _, _ in self.live.values():
            self.allocator.free(block)
        for pool, uses in self.uses.items():
            for _ in range(uses):
                self.allocator.release_pool(pool)
        self.allocator.empty_cache()
        assert set(current(self.allocator).values()) == {0}
        assert self.allocator.pools() == []


TestAllocatorModel = AllocatorModel.TestCase
TestAllocatorModel.settings = settings(
    max_examples=60,
    stateful_step_count=40,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
