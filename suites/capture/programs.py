"""Moves that the capture suites share."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from conformance.adapter import Adapter
from suites.support.programs import capture_between, capture_into, side_stream

#: Every way that the documents offer to capture.
BOTH_WAYS = pytest.mark.parametrize("way", ["begin-end", "context"])

#: Every way to order one stream after another.
ORDERINGS = pytest.mark.parametrize("how", ["event", "record-wait", "wait-stream"])


def capture_by(impl: Adapter, way: str, graph: Any, body: Callable[[], Any]) -> Any:
    """Capture `body` between the two calls, or with the context manager; return what `body` returned."""
    if way == "begin-end":
        return capture_between(impl, graph, body)
    return capture_into(impl, graph, body)


@contextlib.contextmanager
def open_capture(impl: Adapter, graph: Any, stream: Any = None) -> Iterator[Any]:
    """A capture on a side stream that the block must end itself; aborted if the block raises."""
    with side_stream(impl, stream) as side:
        impl.capture_begin(graph)
        try:
            yield side
        except BaseException:
            impl.abort_capture(graph)
            raise


def order(impl: Adapter, first: Any, then: Any, how: str) -> None:
    """Let the later work of `then` wait for the work of `first` so far."""
    if how == "wait-stream":
        then.wait_stream(first)
    elif how == "record-wait":
        then.wait_event(first.record_event())
    else:
        event = impl.new_event()
        event.record(first)
        event.wait(then)


def ramp(shape: tuple[int, ...], start: int = 0) -> torch.Tensor:
    """A CPU tensor of distinct small whole numbers, so that arithmetic on it is exact in every float type."""
    count = int(torch.Size(shape).numel())
    return torch.arange(start, start + count, dtype=torch.float32).reshape(shape)
