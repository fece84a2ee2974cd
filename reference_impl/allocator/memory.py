"""Segments, the blocks that they are cut into, and the arenas that blocks are drawn from."""

from __future__ import annotations

import ctypes
import mmap
from bisect import bisect_left, insort
from typing import Final, Literal

from reference_impl.allocator.statistics import Tally
from reference_impl.pool_ids import PoolId

GRAIN: Final = 512
"""Block sizes are multiples of this many bytes."""
SMALL: Final = 1 << 20
"""The largest block, in bytes, that comes from a small segment."""
SMALL_SEGMENT: Final = 2 << 20
MEDIUM_SEGMENT: Final = 20 << 20
MEDIUM_LIMIT: Final = 10 << 20
LARGE_GRAIN: Final = 2 << 20

State = Literal["active_allocated", "active_pending_free", "inactive"]
ALLOCATED: Final = "active_allocated"
PENDING: Final = "active_pending_free"
INACTIVE: Final = "inactive"


def round_block(nbytes: int) -> int:
    """The size in bytes of the block that holds `nbytes`."""
    return (nbytes + GRAIN - 1) & -GRAIN


def round_segment(size: int) -> int:
    """The size in bytes of the segment made for a block of `size` bytes."""
    if size <= SMALL:
        return SMALL_SEGMENT
    if size < MEDIUM_LIMIT:
        return MEDIUM_SEGMENT
    return (size + LARGE_GRAIN - 1) & -LARGE_GRAIN


class Arena:
    """What one (pool, stream, size class) draws from: its free blocks, ordered for best fit."""

    __slots__ = ("free", "least_piece", "pool", "segments", "small", "stream", "tally")

    def __init__(self, pool: PoolId, stream: int, *, small: bool, tally: Tally) -> None:
        self.pool = pool
        self.stream = stream
        self.small = small
        self.tally = tally
        # Addresses are unique, so comparing entries never reaches the block.
        self.free: list[tuple[int, int, Block]] = []
        self.segments = 0
        # What is left of a block is worth one of its own from this many bytes on.
        self.least_piece = GRAIN if small else SMALL + 1

    def best_fit(self, size: int) -> Block | None:
        """Take out the smallest free block of at least `size` bytes, lowest address first."""
        free = self.free
        index = bisect_left(free, (size,))
        return free.pop(index)[2] if index < len(free) else None

    def add(self, block: Block) -> None:
        """Put a free block in."""
        insort(self.free, (block.size, block.address, block))

    def remove(self, block: Block) -> None:
        """Take out a free block that is known to be in."""
        del self.free[bisect_left(self.free, (block.size, block.address))]


class Segment:
    """A run of memory that never moves, cut into blocks.  Sizes and addresses are in bytes.

    Whoever reads or writes the memory without owning a block holds the segment: the memory is unmapped when the
    allocator has released the segment and nobody holds it any more.
    """

    __slots__ = ("__weakref__", "address", "arena", "first", "memory", "size")

    def __init__(self, memory: memoryview, address: int, arena: Arena) -> None:
        self.memory = memory
        self.address = address
        self.size = len(memory)
        self.arena = arena
        self.first: Block | None = Block(self, address, self.size)

    @property
    def pool(self) -> PoolId:
        """The pool that every block of the segment belongs to."""
        return self.arena.pool

    @property
    def stream(self) -> int:
        """The stream that every block of the segment is allocated on."""
        return self.arena.stream

    @property
    def wholly_free(self) -> bool:
        """Whether no block of the segment is in use."""
        first = self.first
        return first is not None and first.next is None and first.state is INACTIVE

    def clear(self) -> None:
        """Forget the blocks of a released segment: without the cycle, its memory goes promptly."""
        self.first = None

    def blocks(self) -> list[Block]:
        """All blocks, by address."""
        blocks: list[Block] = []
        block = self.first
        while block is not None:
            blocks.append(block)
            block = block.next
        return blocks

    def __repr__(self) -> str:
        return f"<Segment {self.address:#x} of {self.size} bytes, pool {self.pool}>"


class Block:
    """One allocation, or a free piece of a segment.

    A block that has been freed is never handed out again as the same object, so a stale one is always recognised.
    `size` is what is taken from the segment, `requested` what was asked for, both in bytes.  A null block has address 0
    and size 0.
    """

    __slots__ = (
        "address",
        "lease",
        "next",
        "prev",
        "requested",
        "segment",
        "size",
        "state",
        "streams",
    )

    def __init__(self, segment: Segment, address: int, size: int) -> None:
        self.segment = segment
        self.address = address
        self.size = size
        self.requested = 0
        self.state: State = INACTIVE
        self.prev: Block | None = None
        self.next: Block | None = None
        self.streams: set[int] | None = None
        self.lease: object = None

    @property
    def pool(self) -> PoolId:
        """The pool it was allocated from."""
        return self.segment.arena.pool

    @property
    def stream(self) -> int:
        """The stream it was allocated on."""
        return self.segment.arena.stream

    def cut(self, size: int) -> Block:
        """A new block for the first `size` bytes of this free one.

        This object keeps the rest.  With nothing left to keep, the new block takes its place.
        """
        front = Block(self.segment, self.address, size)
        front.prev = self.prev
        if self.prev is None:
            self.segment.first = front
        else:
            self.prev.next = front
        after = self.next if size == self.size else self
        front.next = after
        if after is not None:
            after.prev = front
        self.address += size
        self.size -= size
        return front

    def join(self, neighbour: Block) -> Block:
        """Make one block of this one and the next or previous one; the earlier of them."""
        front, back = (self, neighbour) if neighbour is self.next else (neighbour, self)
        front.size += back.size
        front.next = back.next
        if back.next is not None:
            back.next.prev = front
        return front

    def __repr__(self) -> str:
        return f"<Block {self.address:#x} of {self.size} bytes, {self.state}, pool {self.pool}>"


def map_memory(nbytes: int) -> tuple[memoryview, int]:
    """`nbytes` of zeroed memory and its address; pages are committed when first touched.

    Raises:
        OSError: the machine has no such room.
        OverflowError: no machine has.
    """
    # A private mapping: a forked child must not write into its parent's device memory.
    memory = memoryview(mmap.mmap(-1, nbytes, access=mmap.ACCESS_COPY))
    return memory, ctypes.addressof(ctypes.c_char.from_buffer(memory))
