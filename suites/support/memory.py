"""How much memory is in use, and what uses it."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from typing import Any

import torch

from conformance.adapter import Adapter
from conformance.checks import expect, expect_no_raise
from suites.support.programs import SIZE

#: More than a block of the kind that allocators keep for small tensors, and not round.
LARGE = (1 << 20) + 37
#: Python's generations of young objects, where all that a test makes still is; collecting the rest takes long.
YOUNG = 1
ALL = 2


def use_large_memory(impl: Adapter) -> None:
    """Use a large piece of the graph's pool, and keep nothing of it."""
    torch.empty(LARGE, dtype=torch.uint8, device=impl.device).fill_(7)


def churn(impl: Adapter, value: float, sizes: tuple[int, ...] = (SIZE, SIZE, SIZE, 5, 1031)) -> list[torch.Tensor]:
    """New tensors outside every capture, by transfer and by operator, all holding `value`."""
    tensors = [impl.full(size, value) for size in sizes]
    return tensors + [tensor + 0 for tensor in tensors for _ in range(3)]


def settle(impl: Adapter, *, thorough: bool = False) -> None:
    """Wait for the device, drop what only cycles keep, and return cached memory.

    Args:
        impl: owns the cache.
        thorough: also look for cycles among old objects; that takes a tenth of a second.
    """
    impl.synchronize()
    gc.collect(ALL if thorough else YOUNG)
    expect_no_raise("the allocator's cache can be emptied", impl.empty_cache)


def pools_in_use(impl: Adapter) -> set[tuple[int, ...]] | None:
    """The pools that the allocator's segments belong to, by its snapshot's names; ``None`` where it names none."""
    if impl.capabilities.get("memory_stats") is False:
        return None
    names = [_name_of_pool(segment) for segment in impl.memory_snapshot()]
    return None if None in names else {name for name in names if name is not None}


def pool_of(impl: Adapter, tensor: torch.Tensor) -> tuple[int, ...] | None:
    """The pool that a tensor's memory is in, by the name that the allocator's snapshot has for it, if any."""
    if impl.capabilities.get("memory_stats") is False:
        return None
    for segment in impl.memory_snapshot():
        if 0 <= tensor.data_ptr() - segment["address"] < segment["total_size"]:
            return _name_of_pool(segment)
    return None


def _name_of_pool(segment: Mapping[str, Any]) -> tuple[int, ...] | None:
    name = segment.get("segment_pool_id")
    return tuple(name) if isinstance(name, (tuple, list)) else None


def growth(impl: Adapter, cycle: Callable[[], Any], count: Callable[[], int]) -> int:
    """By how many bytes `count` grows over three cycles.

    What an implementation makes once, at its first capture, is no leak: a good capture comes before the baseline.
    """
    stream, graph = impl.new_stream(), impl.new_graph()
    with impl.stream(stream):
        impl.capture_begin(graph)
        use_large_memory(impl)
        graph.capture_end()
    if impl.has_reset:
        graph.reset()
    del graph
    settle(impl, thorough=True)
    before = count()
    for _ in range(3):
        cycle()
    settle(impl)
    if count() > before:
        settle(impl, thorough=True)
    return count() - before


def usage(impl: Adapter) -> tuple[int, int]:
    """Allocated and reserved bytes once everything that can be returned is returned."""
    settle(impl, thorough=True)
    return impl.memory_allocated(), impl.memory_reserved()


def usage_since(impl: Adapter, before: tuple[int, int]) -> tuple[int, int]:
    """As `usage`, but quick when nothing has changed since `before`."""
    settle(impl)
    now = impl.memory_allocated(), impl.memory_reserved()
    return now if now == before else usage(impl)


def check_returns(impl: Adapter, work: Callable[[], None], promise: str) -> None:
    """Reject unless a second and a third round of `work` leave allocated and reserved memory where they were."""
    work()
    before = usage(impl)
    for _ in range(2):
        work()
        after = usage_since(impl, before)
        expect(after[0] == before[0], promise, f"allocated bytes {before[0]} before, {after[0]} after")
        # The first round may have left reserved memory that later rounds can give back, so equality is not asked.
        expect(after[1] <= before[1], promise, f"reserved bytes {before[1]} before, {after[1]} after")
