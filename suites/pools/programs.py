"""Programs and measures of the pool suites.

The programs are element-wise, so that they need no library handles, and their expected values are written as plain
arithmetic.  Sizes are not round, so that a block is never exactly filled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.adapter import Adapter
from suites.support.captures import captured
from suites.support.programs import chain
from suites.support.streams import side_stream

if TYPE_CHECKING:
    import torch


def begin_and_end(impl: Adapter, source: torch.Tensor, steps: int, pool: Any) -> tuple[Any, torch.Tensor]:
    """A graph of `chain`, captured with plain capture_begin and capture_end on a side stream."""
    graph, settings = impl.graph_for(pool=pool)
    with side_stream(impl):
        impl.capture_begin(graph, **settings)
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
