"""What `memory_snapshot` gives, in the shape of `torch.cuda.memory_snapshot`."""

from __future__ import annotations

from typing import Literal, TypedDict

from reference_impl.allocator.memory import ALLOCATED, INACTIVE, Block, Segment, State
from reference_impl.pool_ids import PoolId


class BlockInfo(TypedDict):
    """One block.  Sizes and addresses are in bytes; `requested_size` is 0 for a free block."""

    address: int
    size: int
    requested_size: int
    state: State
    frames: list[object]


class SegmentInfo(TypedDict):
    """One segment and its blocks by address.  Sizes and addresses are in bytes."""

    device: int
    address: int
    total_size: int
    allocated_size: int
    active_size: int
    requested_size: int
    stream: int
    segment_type: Literal["small", "large"]
    segment_pool_id: PoolId
    is_expandable: bool
    blocks: list[BlockInfo]


def describe_segment(segment: Segment, device: int) -> SegmentInfo:
    """The segment as it is now."""
    blocks = segment.blocks()
    active = [block for block in blocks if block.state is not INACTIVE]
    return {
        "device": device,
        "address": segment.address,
        "total_size": segment.size,
        "allocated_size": sum(block.size for block in active if block.state is ALLOCATED),
        "active_size": sum(block.size for block in active),
        "requested_size": sum(block.requested for block in active),
        "stream": segment.stream,
        "segment_type": "small" if segment.arena.small else "large",
        "segment_pool_id": segment.pool,
        "is_expandable": False,
        "blocks": [_describe_block(block) for block in blocks],
    }


def _describe_block(block: Block) -> BlockInfo:
    return {
        "address": block.address,
        "size": block.size,
        "requested_size": block.requested,
        "state": block.state,
        "frames": [],
    }
