"""Work on other streams during a capture: forked and joined, or apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal
from conformance.markers import requirement
from suites.capture.programs import ORDERINGS, order
from suites.support.captures import captured, open_capture, replay
from suites.support.outcomes import caught, in_words
from suites.support.programs import ramp

SHAPE = (3, 5)


@ORDERINGS
@requirement("capture.fork-join")
def test_forked_work_is_captured(impl: Adapter, how: str) -> None:
    """In-place work on a forked stream does not run at the capture, and once in each replay."""
    x = impl.full(37, 1.0)
    side = impl.new_stream()

    def body() -> None:
        main = impl.current_stream()
        order(impl, main, side, how)
        with impl.stream(side):
            x.add_(4.0)
        order(impl, side, main, how)

    graph, _ = captured(impl, body)
    expect_equal(impl, x, 1.0, "forked work does not run at the capture")
    for count in range(1, 4):
        replay(impl, graph)
        expect_equal(impl, x, 1.0 + 4.0 * count, "forked and joined work runs once in each replay")


@requirement("capture.fork-join")
def test_forked_stream_reports_the_capture(impl: Adapter) -> None:
    """A stream that was forked into the capture reports it, until the capture ends."""
    x = impl.full(37, 1.0)
    side = impl.new_stream()
    reports: list[bool] = []

    def body() -> None:
        main = impl.current_stream()
        side.wait_stream(main)
        with impl.stream(side):
            reports.append(impl.is_current_stream_capturing())
            x.add_(1.0)
        main.wait_stream(side)

    captured(impl, body)
    with impl.stream(side):
        reports.append(impl.is_current_stream_capturing())
    expect(
        reports == [True, False],
        "a forked stream reports the capture while it is underway, not afterwards",
        f"{reports}",
    )


@requirement("capture.fork-join")
def test_outputs_made_on_a_forked_stream(impl: Adapter) -> None:
    """Tensors made by forked work, and kept, are written by each replay."""
    x = impl.tensor(ramp(SHAPE))
    side = impl.new_stream()

    def body() -> tuple[torch.Tensor, torch.Tensor]:
        main = impl.current_stream()
        side.wait_stream(main)
        with impl.stream(side):
            y = (x * 2.0 + 1.0) * 3.0
        z = x - 5.0
        main.wait_stream(side)
        return y, z

    graph, (y, z) = captured(impl, body)
    for start in (0, 11, -6):
        x.copy_(impl.tensor(ramp(SHAPE, start)))
        y.fill_(-1.0)
        z.fill_(-1.0)
        replay(impl, graph)
        expect_equal(impl, y, (ramp(SHAPE, start) * 2.0 + 1.0) * 3.0, "outputs of forked work are written by a replay")
        expect_equal(impl, z, ramp(SHAPE, start) - 5.0, "work parallel to the fork is replayed")


@ORDERINGS
@requirement("capture.fork-join-order")
def test_diamond(impl: Adapter, how: str) -> None:
    """The branches see what preceded the fork, and what follows the join sees both branches."""
    x, a, b, c, y = (impl.full(SHAPE, 0.0) for _ in range(5))
    side = impl.new_stream()

    def body() -> None:
        main = impl.current_stream()
        a.copy_(x)
        a.mul_(2.0)
        order(impl, main, side, how)
        with impl.stream(side):
            b.copy_(a)
            b.add_(1.0)
        c.copy_(a)
        c.mul_(3.0)
        order(impl, side, main, how)
        torch.add(b, c, out=y)
        a.fill_(-7.0)

    graph, _ = captured(impl, body)
    for start in (1, 23, -9, 4):
        now = ramp(SHAPE, start)
        x.copy_(impl.tensor(now))
        for tensor in (a, b, c, y):
            tensor.fill_(-1.0)
        replay(impl, graph)
        expect_equal(impl, b, now * 2.0 + 1.0, "forked work runs after what preceded the fork")
        expect_equal(impl, c, now * 6.0, "work parallel to a fork runs in its stream's order")
        expect_equal(impl, y, now * 8.0 + 1.0, "work after the join runs after the forked work")
        expect_equal(impl, a, -7.0, "work after the join runs after the forked work, which still reads its input")


@requirement("capture.fork-join-order")
@pytest.mark.parametrize("count", [3, 19])
def test_several_branches(impl: Adapter, count: int) -> None:
    """Branches of different lengths are all joined before their sum."""
    x, y = impl.full(SHAPE, 0.0), impl.full(SHAPE, 0.0)
    parts = [impl.full(SHAPE, 0.0) for _ in range(count)]
    sides = [impl.new_stream() for _ in range(count)]

    def body() -> None:
        main = impl.current_stream()
        for number, (side, part) in enumerate(zip(sides, parts, strict=True)):
            side.wait_stream(main)
            with impl.stream(side):
                part.copy_(x)
                for _ in range(number + 1):
                    part.add_(1.0)
        for side in sides:
            main.wait_stream(side)
        y.copy_(torch.stack(parts).sum(0))  # reads all of them at once, so that each missing join shows

    graph, _ = captured(impl, body)
    for start in (2, 31, -8):
        now = ramp(SHAPE, start)
        x.copy_(impl.tensor(now))
        for tensor in (*parts, y):
            tensor.fill_(-1.0)
        replay(impl, graph)
        expect_equal(
            impl, y, now * count + count * (count + 1) / 2, "work after the joins sees the work of every branch"
        )


@requirement("capture.fork-join-order")
def test_fork_of_a_fork(impl: Adapter) -> None:
    """A branch forks another one; joined through the first, both are ordered before what follows."""
    x, a, b, y = (impl.full(SHAPE, 0.0) for _ in range(4))
    outer, inner = impl.new_stream(), impl.new_stream()

    def body() -> None:
        main = impl.current_stream()
        outer.wait_stream(main)
        with impl.stream(outer):
            torch.mul(x, 2.0, out=a)
            inner.wait_stream(outer)
            with impl.stream(inner):
                torch.add(a, 3.0, out=b)
            outer.wait_stream(inner)
        main.wait_stream(outer)
        torch.mul(b, 5.0, out=y)

    graph, _ = captured(impl, body)
    for start in (0, 17, -5):
        now = ramp(SHAPE, start)
        x.copy_(impl.tensor(now))
        for tensor in (a, b, y):
            tensor.fill_(-1.0)
        replay(impl, graph)
        expect_equal(impl, y, (now * 2.0 + 3.0) * 5.0, "work after the join follows the nested forks")


@requirement("capture.fork-join-order")
def test_event_orders_what_it_was_recorded_after(impl: Adapter) -> None:
    """An event recorded again inside the capture orders by its last record before the wait."""
    x, y = impl.full(SHAPE, 0.0), impl.full(SHAPE, 0.0)
    side = impl.new_stream()

    def body() -> None:
        main = impl.current_stream()
        event = impl.new_event()
        event.record(main)
        x.add_(1.0)
        x.mul_(3.0)
        event.record(main)
        event.wait(side)
        with impl.stream(side):
            y.copy_(x)
        main.wait_stream(side)

    graph, _ = captured(impl, body)
    for start in (0.0, 4.0, -9.0):
        x.fill_(start)
        y.fill_(-1.0)
        replay(impl, graph)
        expect_equal(impl, y, (start + 1.0) * 3.0, "a wait is for the event's latest record")


@requirement("capture.other-streams-run")
def test_unforked_work(impl: Adapter, observe: Callable[[str, Any], None]) -> None:
    """Records whether in-place work on a stream apart runs during the capture, and whether replays repeat it."""
    x, z = impl.full(37, 1.0), impl.full(37, 10.0)
    apart = impl.new_stream()
    impl.synchronize()  # the stream apart is not ordered after the fills, and must not be tied to the capture
    graph = impl.new_graph()

    def capture() -> None:
        with open_capture(impl, graph):
            x.add_(1.0)
            with impl.stream(apart):
                z.add_(5.0)
            x.add_(1.0)
            graph.capture_end()

    error = caught(capture)
    observe("capture", in_words(error))
    if error is None:
        impl.synchronize()
        observe("runs at once", bool((impl.read(z) == 15.0).all()))
        observe("replay", in_words(caught(graph.replay)))
        impl.synchronize()
        observe("after a replay", sorted({float(value) for value in impl.read(z)}))
