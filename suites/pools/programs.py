"""Programs and measures of the pool suites.

The programs are element-wise, so that they need no library handles, and their expected values are written as plain
arithmetic.  Sizes are not round, so that a block is never exactly filled.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

from conformance.adapter import Adapter
from suites.support.programs import captured, side_stream

if TYPE_CHECKING:
    import torch

SIZE = 37
POISON = -99.0


def chain(source: torch.Tensor, steps: int) -> torch.Tensor:
    """`source + steps`, one step at a time: each temporary dies when the one after the next is made."""
    value = source + 1
    for _ in range(steps - 1):
        value = value + 1
    return value


def begin_and_end(impl: Adapter, source: torch.Tensor, steps: int, pool: Any) -> tuple[Any, torch.Tensor]:
    """A graph of `chain`, captured with plain capture_begin and capture_end on a side stream."""
    graph = impl.new_graph()
    with side_stream(impl):
        impl.capture_begin(graph, pool=pool)
        try:
            out = chain(source, steps)
        finally:
            graph.capture_end()
    return graph, out


def capture_chain(
    impl: Adapter, source: torch.Tensor, steps: int, how: str = "context-manager", pool: Any = None
) -> tuple[Any, torch.Tensor]:
    """A graph of `chain` and its output, captured in one of the two documented ways."""
    if how == "capture-begin":
        return begin_and_end(impl, source, steps, pool)
    return captured(impl, lambda: chain(source, steps), pool=pool)


def churn(impl: Adapter, value: float, sizes: tuple[int, ...] = (SIZE, SIZE, SIZE, 5, 1031)) -> list[torch.Tensor]:
    """New tensors outside every capture, by transfer and by operator, all holding `value`."""
    moved = [impl.full(size, value) for size in sizes]
    return moved + [tensor + 0 for tensor in moved for _ in range(3)]


def settle(impl: Adapter, *, thorough: bool = False) -> None:
    """Wait for the device, drop what only cycles keep, and return cached memory.

    Args:
        impl: owns the cache.
        thorough: also look for cycles among old objects; that takes a tenth of a second.
    """
    impl.synchronize()
    gc.collect(2 if thorough else 1)
    impl.empty_cache()


def usage(impl: Adapter) -> tuple[int, int]:
    """Allocated and reserved bytes once everything that can be returned is returned."""
    settle(impl, thorough=True)
    return impl.memory_allocated(), impl.memory_reserved()


def usage_since(impl: Adapter, before: tuple[int, int]) -> tuple[int, int]:
    """As `usage`, but quick when nothing has changed since `before`."""
    settle(impl)
    now = impl.memory_allocated(), impl.memory_reserved()
    return now if now == before else usage(impl)
