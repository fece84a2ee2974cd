"""A capture is of streams: whose thread gives work to a captured one makes no difference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from conformance.adapter import Adapter, in_thread
from conformance.checks import expect_equal
from conformance.markers import needs, requirement
from suites.capture.programs import ORDERINGS, order
from suites.support.captures import captured, replay

PROMISE = "work that another thread gives to a capturing stream is captured in its place"


def check_work_of(impl: Adapter, elsewhere: Callable[[Any, torch.Tensor], None]) -> None:
    """Reject unless `elsewhere`, which a second thread calls in a capture with its stream, is captured: it adds 3."""
    x = impl.full(37, 5.0)
    x.mul_(1.0).add_(0.0)  # loads the kernels, so that the other thread launches them and does nothing else
    impl.synchronize()

    def body() -> None:
        stream = impl.current_stream()
        x.mul_(2.0)
        in_thread(lambda: elsewhere(stream, x))
        x.mul_(10.0)

    graph, _ = captured(impl, body)
    expect_equal(impl, x, 5.0, f"{PROMISE}, and does not run")
    for start in (1.0, -4.0, 0.5):
        x.fill_(start)
        replay(impl, graph)
        expect_equal(impl, x, (start * 2.0 + 3.0) * 10.0, PROMISE)


@requirement("capture.other-threads")
def test_the_capturing_stream_itself(impl: Adapter) -> None:
    """Another thread makes the capturing stream its current one and works there."""

    def elsewhere(stream: Any, x: torch.Tensor) -> None:
        with impl.stream(stream):
            x.add_(3.0)

    check_work_of(impl, elsewhere)


@ORDERINGS
@requirement("capture.other-threads")
@needs("fork_join")
def test_a_stream_that_joins_there(impl: Adapter, how: str) -> None:
    """Another thread forks a stream of its own into the capture, works on it and joins it."""
    side = impl.new_stream()

    def elsewhere(stream: Any, x: torch.Tensor) -> None:
        with impl.stream(side):
            order(impl, stream, side, how)
            x.add_(3.0)
            order(impl, side, stream, how)

    check_work_of(impl, elsewhere)
