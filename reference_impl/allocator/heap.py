"""Where the blocks are: segments, arenas and their statistics."""

from __future__ import annotations

from bisect import bisect_left

from reference_impl.allocator.memory import ALLOCATED, INACTIVE, SMALL, Arena, Block, Segment
from reference_impl.allocator.statistics import Statistics
from reference_impl.pool_ids import DEFAULT_POOL, PoolId, as_pool_id


class Heap:
    """All segments of a device, cut into blocks.  Sizes are bytes.

    It knows neither locks nor hooks: the allocator calls it with its gate held, but for `segment_of`.
    """

    def __init__(self) -> None:
        self.statistics = Statistics()
        self._arenas: dict[tuple[PoolId, int, bool], Arena] = {}
        # By address.  Replaced and never changed, so that addresses can be looked up without the gate.
        self._segments: list[tuple[int, Segment]] = []

    def segments(self) -> list[Segment]:
        """Every segment, by address."""
        return [segment for _, segment in self._segments]

    def segment_of(self, address: int) -> Segment | None:
        """The segment that `address` lies in."""
        segments = self._segments
        index = bisect_left(segments, (address + 1,)) - 1
        if index < 0:
            return None
        start, segment = segments[index]
        return segment if address < start + segment.size else None

    def arena(self, pool: PoolId, stream: int, size: int) -> Arena:
        """Where blocks of `size` bytes for this pool and stream are drawn from."""
        small = size <= SMALL
        key = (pool, stream, small)
        arena = self._arenas.get(key)
        if arena is None:
            if pool != DEFAULT_POOL:
                as_pool_id("allocate", pool)
            tally = self.statistics.small if small else self.statistics.large
            arena = self._arenas[key] = Arena(pool, stream, small=small, tally=tally)
        return arena

    def take(self, size: int, requested: int, stream: int, pool: PoolId) -> Block | None:
        """A block cut from the best free one; None if there is none to cut from."""
        arena = self.arena(pool, stream, size)
        free = arena.best_fit(size)
        return None if free is None else self._carve(arena, free, size, requested)

    def adopt(self, arena: Arena, memory: memoryview, address: int, size: int, requested: int) -> Block:
        """Make a segment of `memory` and hand out its front before anyone else can."""
        segment = Segment(memory, address, arena)
        index = bisect_left(self._segments, (address,))
        self._segments = [*self._segments[:index], (address, segment), *self._segments[index:]]
        arena.segments += 1
        for tally in (arena.tally, self.statistics.all):
            tally.reserved(1, segment.size)
        return self._carve(arena, segment.blocks()[0], size, requested)

    def drop(self, segment: Segment) -> None:
        """Forget a wholly free segment."""
        arena = segment.arena
        for block in segment.blocks():
            arena.remove(block)
        segment.clear()
        arena.segments -= 1
        if arena.segments == 0:
            del self._arenas[arena.pool, arena.stream, arena.small]
        self._segments = [entry for entry in self._segments if entry[1] is not segment]
        for tally in (arena.tally, self.statistics.all):
            tally.reserved(-1, -segment.size)

    def defer(self, block: Block, sign: int) -> None:
        """Count a block as given up but in use, or with `sign` -1 as no longer in use."""
        for tally in (block.segment.arena.tally, self.statistics.all):
            tally.deferred(sign, sign * block.size)

    def merge(self, block: Block) -> None:
        """Make `block` free, together with the free blocks on both sides of it."""
        arena = block.segment.arena
        everything = self.statistics.all
        arena.tally.returned(block.size, block.requested)
        everything.returned(block.size, block.requested)
        block.state = INACTIVE
        block.requested = 0
        pieces = nbytes = 0
        for piece in (block.next, block.prev):
            if piece is not None and piece.state is INACTIVE:
                arena.remove(piece)
                pieces -= 1
                nbytes -= piece.size
                block = block.join(piece)
        arena.add(block)
        if block.prev is not None or block.next is not None:
            pieces += 1
            nbytes += block.size
        if pieces or nbytes:
            arena.tally.split(pieces, nbytes)
            everything.split(pieces, nbytes)

    def _carve(self, arena: Arena, free: Block, size: int, requested: int) -> Block:
        """Hand out the front of `free`, which is in no list; the rest goes back, if worth it."""
        pieces = nbytes = 0
        if free.prev is not None or free.next is not None:
            pieces, nbytes = -1, -free.size
        if free.size - size < arena.least_piece:
            size = free.size
        block = free.cut(size)
        if free.size:
            arena.add(free)
            pieces += 1
            nbytes += free.size
        block.requested = requested
        block.state = ALLOCATED
        everything = self.statistics.all
        arena.tally.took(size, requested)
        everything.took(size, requested)
        if pieces or nbytes:
            arena.tally.split(pieces, nbytes)
            everything.split(pieces, nbytes)
        return block
