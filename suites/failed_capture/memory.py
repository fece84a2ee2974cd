"""How much memory cycles of capture and failure leave behind."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import torch

from conformance.adapter import Adapter
from conformance.checks import expect_no_raise

#: More than a block of the kind that allocators keep for small tensors, and not round.
LARGE = (1 << 20) + 37
#: Python's generations of young objects, where all that a test makes still is; collecting the rest takes long.
YOUNG = 1
ALL = 2


def use_large_memory(impl: Adapter) -> None:
    """Use a large piece of the graph's pool, and keep nothing of it."""
    torch.empty(LARGE, dtype=torch.uint8, device=impl.device).fill_(7)


def settle(impl: Adapter, generation: int = YOUNG) -> None:
    """Let go of all that nothing refers to, and of what is cached."""
    gc.collect(generation)
    impl.synchronize()
    expect_no_raise("the allocator's cache can be emptied after a capture that failed", impl.empty_cache)


def growth(impl: Adapter, cycle: Callable[[], Any], count: Callable[[], int]) -> int:
    """By how many bytes `count` grows over three cycles.

    What an implementation makes once, at its first capture, is no leak: a good capture comes before the baseline.
    """
    stream, graph = impl.new_stream(), impl.new_graph()
    with impl.stream(stream):
        impl.capture_begin(graph)
        use_large_memory(impl)
        graph.capture_end()
    graph.reset()
    settle(impl, ALL)
    before = count()
    for _ in range(3):
        cycle()
    settle(impl)
    if count() > before:
        settle(impl, ALL)
    return count() - before
