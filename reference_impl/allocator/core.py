"""The caching allocator."""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Callable, Iterable
from typing import ClassVar

from reference_impl.allocator.errors import OutOfMemoryError
from reference_impl.allocator.gate import Gate
from reference_impl.allocator.heap import Heap
from reference_impl.allocator.memory import (
    ALLOCATED,
    PENDING,
    Arena,
    Block,
    Segment,
    map_memory,
    round_block,
    round_segment,
)
from reference_impl.allocator.pools import PoolTable
from reference_impl.allocator.snapshot import SegmentInfo, describe_segment
from reference_impl.poison import POISON
from reference_impl.pool_ids import DEFAULT_POOL, PoolId, as_pool_id

_memset = ctypes.memset


def poison_now(address: int, nbytes: int, _stream: int) -> None:
    """Poison `nbytes` bytes at `address` at once, whatever the stream has yet to do."""
    _memset(address, POISON, nbytes)


def _no_map(address: int, nbytes: int) -> None:
    """Nobody wants to know of new segments."""


def _no_unmap(address: int) -> None:
    """Nobody wants to know of released segments."""


def _all_done() -> bool:
    return True


def _no_fence(_stream: int) -> Callable[[], bool]:
    """On a synchronous device no stream has work left."""
    return _all_done


class CachingAllocator:
    """Memory of one software device, as `torch.cuda` manages a GPU's.  Thread-safe.

    A block is reused only by allocations of its own pool and stream.  Which pool an allocation belongs to is the
    caller's decision; the allocator counts the uses of each.

    The hooks are called without the allocator's lock.  `poison` and `fence` may run inside the finalizer of a storage,
    on any thread, so they must neither wait nor raise.

    Args:
        limit: the most bytes that all segments together may have; None for no limit.
        device: the device number that snapshots state.
        on_map: called with the address and bytes of each new segment, before any block of it.
        on_unmap: called with the address of each released segment, before its memory goes.
        poison: fills memory with `POISON`: called with address, bytes and stream when a block is handed out and when it
            returns.  A device whose streams lag puts it in stream order.
        fence: called at a free with each other stream that used the block; returns what says whether the work that this
            stream has been given so far is done.
    """

    out_of_memory: ClassVar[type[RuntimeError]] = OutOfMemoryError

    def __init__(
        self,
        limit: int | None = None,
        *,
        device: int = 0,
        on_map: Callable[[int, int], None] = _no_map,
        on_unmap: Callable[[int], None] = _no_unmap,
        poison: Callable[[int, int, int], None] = poison_now,
        fence: Callable[[int], Callable[[], bool]] = _no_fence,
    ) -> None:
        self.limit = limit
        self.device = device
        self.poison = poison
        self.fence = fence
        self._on_map = on_map
        self._on_unmap = on_unmap
        self._gate = Gate()
        self._pools = PoolTable()
        self._heap = Heap()
        # Bytes in segments, and in those that are being made.
        self._reserved = 0
        # Freed and poisoned, to be merged by whoever next passes the gate.
        self._returned: deque[Block] = deque()
        # Freed while other streams had work on them, to be counted by whoever passes it.
        self._deferred: deque[Block] = deque()
        # The same blocks, with what says that this work is done.
        self._pending: deque[tuple[Block, list[Callable[[], bool]]]] = deque()

    # Blocks

    def allocate(self, nbytes: int, stream: int, pool: PoolId = DEFAULT_POOL) -> Block:
        """A poisoned block of at least `nbytes` bytes; a null block for 0 bytes.

        Raises:
            ValueError: `nbytes` is negative, or `pool` is no pool id.
            OutOfMemoryError: the limit or the machine does not allow it (`out_of_memory`).
        """
        if nbytes <= 0:
            return self._null_block(nbytes, stream, pool)
        if self._pending:
            self._poll()
        size = round_block(nbytes)
        with self._gate:
            block = self._heap.take(size, nbytes, stream, pool)
        if block is None:
            block = self._grow(nbytes, size, stream, pool)
        elif self._returned:
            self._settle()
        self.poison(block.address, block.size, stream)
        return block

    def free(self, block: Block) -> None:
        """Give `block` up.  Null blocks need it not.

        Raises:
            RuntimeError: it was freed before.
        """
        if not self.reclaim(block) and block.address:
            raise RuntimeError(
                "free: the block was freed before; free each block once, and leave one that a "
                "storage owns to the storage",
            )

    def reclaim(self, block: Block) -> bool:
        """Free `block` from a finalizer: never waits, never raises; False if freed before."""
        # Nothing is called between the test and the change, so no other thread runs in between.
        if block.state is not ALLOCATED:
            return False
        block.state = PENDING
        if block.streams:
            try:
                fences = [self.fence(stream) for stream in block.streams]
            except BaseException:
                block.state = ALLOCATED
                raise
            # Counted before it can be retired, which takes it off the count.
            self._deferred.append(block)
            self._pending.append((block, fences))
            self._refresh()
        else:
            self._retire(block)
        return True

    def use_on_stream(self, block: Block, stream: int) -> None:
        """Note that `stream` uses `block` too.

        When the block is freed, it waits to be reused until the fences of all such streams, set at that moment, say
        that they are done.

        Raises:
            RuntimeError: the block is freed.
        """
        if block.address == 0:
            return
        if block.state is not ALLOCATED:
            raise RuntimeError(
                "use_on_stream: the block is freed; note the streams that use a block before freeing it",
            )
        if stream == block.stream:
            return
        if block.streams is None:
            block.streams = set()
        block.streams.add(stream)

    # Pools

    def begin_allocate_to_pool(self, pool: PoolId) -> None:
        """A capture starts recording to `pool`: counts a use.

        Raises:
            RuntimeError: another capture is recording to it; the count stays as it was.
        """
        self._pools.begin(pool)

    def end_allocate_to_pool(self, pool: PoolId) -> None:
        """The capture no longer records to `pool`; the use stays until `release_pool`.

        Raises:
            RuntimeError: no capture is recording to it.
        """
        self._pools.end(pool)

    def retain_pool(self, pool: PoolId) -> None:
        """Count one more use; a pool whose count fell to 0 is in use again, memory and all."""
        self._pools.retain(pool)

    def release_pool(self, pool: PoolId) -> None:
        """Count one use less; without uses, wholly free segments go at the next empty_cache.

        Raises:
            RuntimeError: the pool has no uses.
        """
        self._pools.release(pool)

    def recording(self, pool: PoolId) -> bool:
        """Whether a capture is recording to `pool`."""
        return self._pools.recording(pool)

    def use_count(self, pool: PoolId) -> int:
        """Uses of `pool` not yet released; 0 for one never seen."""
        return self._pools.use_count(pool)

    def pools(self) -> list[PoolId]:
        """The private pools that are in use, being recorded to, or still have memory; sorted."""
        with self._gate:
            holding = {segment.pool for segment in self._heap.segments()}
        return sorted((holding | self._pools.used()) - {DEFAULT_POOL})

    # Segments

    def empty_cache(self) -> None:
        """Release the wholly free segments of the default pool and of pools not in use."""
        self._refresh()
        with self._gate:
            released = [
                segment
                for segment in self._heap.segments()
                if segment.wholly_free and self._pools.freeable(segment.pool)
            ]
            for segment in released:
                self._heap.drop(segment)
                self._reserved -= segment.size
        self._settle()
        for segment in released:
            self._on_unmap(segment.address)

    def segment_of(self, address: int) -> Segment | None:
        """The segment that `address` lies in.  Hold it to keep that memory mapped."""
        return self._heap.segment_of(address)

    def ranges(self, pools: Iterable[PoolId]) -> list[tuple[int, int]]:
        """``[start, end)`` of every segment of `pools`, by address: live and free blocks."""
        tokens = set(pools)
        with self._gate:
            return [
                (segment.address, segment.address + segment.size)
                for segment in self._heap.segments()
                if segment.pool in tokens
            ]

    # Statistics

    def memory_allocated(self) -> int:
        """Bytes in blocks that are handed out."""
        self._refresh()
        return self._heap.statistics.all.allocated_bytes.current

    def memory_reserved(self) -> int:
        """Bytes in segments."""
        return self._heap.statistics.all.reserved_bytes.current

    def max_memory_allocated(self) -> int:
        """The most bytes handed out at once since the last reset of the peaks."""
        return self._heap.statistics.all.allocated_bytes.peak

    def max_memory_reserved(self) -> int:
        """The most bytes in segments at once since the last reset of the peaks."""
        return self._heap.statistics.all.reserved_bytes.peak

    def memory_stats(self) -> dict[str, int]:
        """The flat, sorted dictionary of `torch.cuda.memory_stats`, key for key."""
        self._refresh()
        with self._gate:
            return self._heap.statistics.flat()

    def reset_peak_memory_stats(self) -> None:
        """Let the peaks start again from what is there now."""
        self._refresh()
        with self._gate:
            self._heap.statistics.reset_peaks()

    def memory_snapshot(self) -> list[SegmentInfo]:
        """All segments by address, in the shape of `torch.cuda.memory_snapshot`."""
        self._refresh()
        with self._gate:
            return [describe_segment(segment, self.device) for segment in self._heap.segments()]

    # Handing out

    def _null_block(self, nbytes: int, stream: int, pool: PoolId) -> Block:
        if nbytes < 0:
            raise ValueError(f"allocate: a size in bytes is not negative, got {nbytes}")
        if pool != DEFAULT_POOL:
            as_pool_id("allocate", pool)
        nowhere = Segment(memoryview(b""), 0, Arena(pool, stream, small=True, tally=self._heap.statistics.small))
        nowhere.clear()
        return Block(nowhere, 0, 0)

    def _grow(self, requested: int, size: int, stream: int, pool: PoolId) -> Block:
        """A block at the front of a new segment."""
        nbytes = round_segment(size)
        mapped = self._map(nbytes)
        if mapped is None:
            self._heap.statistics.retries += 1
            self.empty_cache()
            mapped = self._map(nbytes)
        if mapped is None:
            self._heap.statistics.ooms += 1
            raise self.out_of_memory(self._shortage(requested, nbytes))
        memory, address = mapped
        try:
            self._on_map(address, nbytes)
        except BaseException:
            with self._gate:
                self._reserved -= nbytes
            raise
        with self._gate:
            arena = self._heap.arena(pool, stream, size)
            block = self._heap.adopt(arena, memory, address, size, requested)
        self._settle()
        return block

    def _map(self, nbytes: int) -> tuple[memoryview, int] | None:
        """New memory within the limit; None if there is none to be had."""
        with self._gate:
            if self.limit is not None and self._reserved + nbytes > self.limit:
                return None
            self._reserved += nbytes
        try:
            return map_memory(nbytes)
        except (OSError, OverflowError):
            with self._gate:
                self._reserved -= nbytes
            return None

    def _shortage(self, requested: int, nbytes: int) -> str:
        allowed = "no limit set" if self.limit is None else f"limit {self.limit} bytes"
        return (
            f"out of memory on software device {self.device}: {requested} bytes asked for, which "
            f"needs a segment of {nbytes} bytes; {self.memory_reserved()} bytes reserved, "
            f"{self.memory_allocated()} bytes allocated, {allowed}. Free tensors, or reset graphs "
            "whose pools are no longer needed"
        )

    # Taking back

    def _retire(self, block: Block) -> None:
        """Poison a block that nobody uses any more, and put it where it can be reused."""
        try:
            self.poison(block.address, block.size, block.segment.arena.stream)
        finally:
            self._returned.append(block)
            self._settle()

    def _poll(self) -> None:
        """Retire the pending blocks whose streams are done with them."""
        for _ in range(len(self._pending)):
            try:
                block, fences = self._pending.popleft()
            except IndexError:  # another thread polls too and has taken the last one
                return
            waiting = [done for done in fences if not done()]
            if waiting:
                self._pending.append((block, waiting))
            else:
                self._retire(block)

    def _refresh(self) -> None:
        """Bring the statistics and free lists up to date with what has been freed."""
        if self._pending:
            self._poll()
        self._settle()

    def _settle(self) -> None:
        """Count what was freed, unless someone is inside: they do it when they leave."""
        gate, deferred, returned = self._gate, self._deferred, self._returned
        while (returned or deferred) and gate.try_enter():
            try:
                while deferred:
                    block = deferred.popleft()
                    self._heap.defer(block, 1)
                while returned:
                    block = returned.popleft()
                    if block.streams:
                        self._heap.defer(block, -1)
                    self._heap.merge(block)
            finally:
                gate.leave()
