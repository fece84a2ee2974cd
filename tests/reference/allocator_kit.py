"""What the tests of the caching allocator share."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

from reference_impl.allocator import (
    Block,
    CachingAllocator,
)

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
    """Streams whose work is done when a test says so."""

    def __init__(self) -> None:
        self.idle: set[int] = set()

    def fence(self, stream: int) -> Callable[[], bool]:
        return lambda: stream in self.idle
