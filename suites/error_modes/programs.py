"""Captures in each mode while somebody makes the call that the modes tell apart, and what came of them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect, is_refusal
from suites.support.captures import open_capture
from suites.support.disturbances import Attempt, attempt
from suites.support.modes import MODES, unsafe, unsafe_elsewhere
from suites.support.outcomes import caught, in_words

#: Longer than any thread of a suite needs, so that a fault shows as a failure and not as a hang.
PATIENCE_S = 20.0

every_mode = pytest.mark.parametrize("mode", MODES)
refusing_mode = pytest.mark.parametrize("mode", ["global", "thread_local"])


def expect_refused(outcome: Attempt, promise: str) -> None:
    """Reject unless the call inside the capture was refused."""
    expect(is_refusal(outcome.refusal), promise, in_words(outcome.refusal))


def expect_allowed(outcome: Attempt, promise: str) -> None:
    """Reject if the call inside the capture, or the end of the capture, raised."""
    expect(outcome.refusal is None and outcome.ending is None, promise, str(outcome))


def capture_in_worker(
    impl: Adapter, body: Callable[[], Any], disturbance: Callable[[], Any], mode: str | None
) -> Attempt:
    """Capture `body` in a thread of its own while this thread makes the disturbing call."""
    graph = impl.new_graph()
    start, finish = Event(), Event()

    def worker() -> tuple[Any, Exception | None, bool]:
        try:
            with open_capture(impl, graph, mode=mode) as side:
                body()
                start.set()
                finish.wait(PATIENCE_S)
                ending = caught(graph.capture_end)
                left_capturing = impl.is_current_stream_capturing()
            return side, ending, left_capturing
        finally:
            start.set()

    with ThreadPoolExecutor(max_workers=1) as pool:
        future = pool.submit(worker)
        start.wait(PATIENCE_S)
        try:
            refusal = caught(disturbance)
        finally:
            finish.set()
        side, ending, left_capturing = future.result(PATIENCE_S)
    return Attempt(graph, side, refusal, ending, left_capturing)


def probe(impl: Adapter, *, graph: Any = None, mode: str | None = None, elsewhere: bool = False) -> Attempt:
    """Capture next to nothing in `mode` and make the call inside, to learn which mode really holds."""
    tensor = impl.full(5, 1.0)
    call = unsafe_elsewhere(impl) if elsewhere else unsafe(impl)
    return attempt(impl, lambda: tensor.add_(1), call, graph=graph, mode=mode)
