"""The caching allocator of the software device.

It behaves, seen from outside, as torch.cuda's caching allocator: sizes, segments, best fit, private pools, statistics
and snapshots.  Its memory is host memory that never moves, so an address taken during a capture stays good for every
replay.

Nothing here imports torch.  `reference_impl.allocator.storage` turns blocks into storages.
"""

from __future__ import annotations

from reference_impl.allocator.core import CachingAllocator, poison_now
from reference_impl.allocator.errors import OutOfMemoryError
from reference_impl.allocator.memory import Block, Segment
from reference_impl.allocator.pools import graph_pool_handle, new_pool_id
from reference_impl.allocator.snapshot import BlockInfo, SegmentInfo
from reference_impl.pool_ids import DEFAULT_POOL, PoolId

__all__ = [
    "DEFAULT_POOL",
    "Block",
    "BlockInfo",
    "CachingAllocator",
    "OutOfMemoryError",
    "PoolId",
    "Segment",
    "SegmentInfo",
    "graph_pool_handle",
    "new_pool_id",
    "poison_now",
]
