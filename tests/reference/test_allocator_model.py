"""The caching allocator against a naive model."""

from __future__ import annotations

import ctypes
import itertools

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

from .allocator_kit import MIB, Streams, contents, current, write


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
        self.allocations = 0
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
        self.allocations += 1
        assert (block.stream, block.pool, block.requested) == (stream, pool, nbytes)
        assert block.size >= nbytes
        assert ctypes.string_at(block.address, 512) == b"\xff" * 512
        value = self.allocations % 251
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

    @rule(idle=st.booleans())
    def finish(self, idle: bool) -> None:
        self.streams.idle = {7} if idle else set()

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
        addresses: set[int] = set()
        for segment in self.allocator.memory_snapshot():
            blocks = segment["blocks"]
            assert blocks[0]["address"] == segment["address"]
            assert sum(block["size"] for block in blocks) == segment["total_size"]
            for left, right in itertools.pairwise(blocks):
                assert left["address"] + left["size"] == right["address"]
                assert (left["state"], right["state"]) != ("inactive", "inactive")
            addresses |= {b["address"] for b in blocks if b["state"] == "active_allocated"}
        assert addresses == set(self.live)

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
        self.streams.idle = {7}
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
