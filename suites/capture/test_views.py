"""Views in and around a capture share memory with their base, as they do in eager work."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect_equal
from conformance.markers import requirement
from suites.support.captures import captured, replay
from suites.support.programs import ramp

if TYPE_CHECKING:
    import torch

SHAPE = (4, 6)

VIEWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "slice": lambda base: base[1:3],
    "strided": lambda base: base[:, 1::2],
    "transpose": lambda base: base.t(),
    "select": lambda base: base.select(0, 2),
    "reshape": lambda base: base.view(3, 8)[1],
    "diagonal": lambda base: base.diagonal(),
}


@pytest.mark.parametrize("kind", VIEWS)
@requirement("capture.views")
def test_write_through_a_view(impl: Adapter, kind: str) -> None:
    """In-place operators on a view from before and on one made inside change that part of the base and no other."""
    base = impl.full(SHAPE, 0.0)
    early = VIEWS[kind](base)

    def body() -> None:
        early.mul_(3.0)
        VIEWS[kind](base).add_(100.0)

    graph, _ = captured(impl, body)
    for start in (1, 30, -50):
        expected = ramp(SHAPE, start)
        base.copy_(impl.tensor(expected))
        part = VIEWS[kind](expected)
        part.mul_(3.0).add_(100.0)
        replay(impl, graph)
        expect_equal(impl, base, expected, "a write through a view changes the viewed part of the base, and no other")


@pytest.mark.parametrize("kind", ["strided", "transpose", "diagonal"])
@requirement("capture.views")
def test_read_through_a_view(impl: Adapter, kind: str) -> None:
    """A captured read of a view made inside sees what the base holds at the replay."""
    base = impl.full(SHAPE, 0.0)
    graph, y = captured(impl, lambda: VIEWS[kind](base) + 1.0)
    for start in (2, 60, -7):
        now = ramp(SHAPE, start)
        base.copy_(impl.tensor(now))
        y.fill_(-1.0)
        replay(impl, graph)
        expect_equal(impl, y, VIEWS[kind](now) + 1.0, "a read through a view sees the base's present values")


@pytest.mark.parametrize("kind", ["slice", "select", "reshape"])
@requirement("capture.views")
def test_views_of_an_output(impl: Adapter, kind: str) -> None:
    """Views of a captured output, made inside the capture or after it, show what a replay writes."""
    x = impl.full(SHAPE, 0.0)

    def body() -> tuple[torch.Tensor, torch.Tensor]:
        y = x * 2.0
        return y, VIEWS[kind](y)

    graph, (y, inside) = captured(impl, body)
    after = VIEWS[kind](y)
    for start in (3, 41, -8):
        now = ramp(SHAPE, start)
        x.copy_(impl.tensor(now))
        y.fill_(-1.0)
        replay(impl, graph)
        expect_equal(impl, inside, VIEWS[kind](now * 2.0), "a view made inside the capture shows the replayed output")
        expect_equal(impl, after, VIEWS[kind](now * 2.0), "a view made after the capture shows the replayed output")


@requirement("capture.views")
def test_view_outlives_its_base(impl: Adapter) -> None:
    """When only a view of a captured tensor is kept, replays still write it."""
    x = impl.full(SHAPE, 0.0)
    graph, view = captured(impl, lambda: (x + 1.0).t()[2:])
    for start in (0, 19, -4):
        now = ramp(SHAPE, start)
        x.copy_(impl.tensor(now))
        view.fill_(-1.0)
        replay(impl, graph)
        expect_equal(impl, view, (now + 1.0).t()[2:], "a kept view keeps the captured memory that it shows")
