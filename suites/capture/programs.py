"""Helpers that the capture suites share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.adapter import Adapter
from suites.support.streams import side_stream

#: Every way to order one stream after another.
ORDERINGS = pytest.mark.parametrize("how", ["event", "record-wait", "wait-stream"])


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


def warm_up(impl: Adapter, body: Callable[[], Any], times: int = 2) -> None:
    """Run `body` eagerly on a side stream, so that no library handle is made inside the capture that follows."""
    with side_stream(impl):
        for _ in range(times):
            body()
    impl.synchronize()
