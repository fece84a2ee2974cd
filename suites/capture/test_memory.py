"""Tensors made inside a capture: factories, intermediates, and what outputs are before the first replay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal
from conformance.markers import requirement
from suites.support.captures import captured, replay
from suites.support.programs import ramp

SHAPE = (3, 5)

FACTORIES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "zeros": lambda like: torch.zeros(SHAPE, device=like.device),
    "full": lambda like: torch.full(SHAPE, 2.5, device=like.device),
    "arange": lambda like: torch.arange(15.0, device=like.device).reshape(SHAPE),
    "zeros-like": torch.zeros_like,
    "empty-filled": lambda like: torch.empty(SHAPE, device=like.device).fill_(6.0),
}


@pytest.mark.parametrize("kind", FACTORIES)
@requirement("capture.factories")
def test_factory_fills_again(impl: Adapter, kind: str) -> None:
    """What earlier replays added to a tensor made inside the capture is gone in the next one."""
    x = impl.full(SHAPE, 0.0)

    def body() -> torch.Tensor:
        total = FACTORIES[kind](x)
        total.add_(x)
        return total

    graph, total = captured(impl, body)
    fill = FACTORIES[kind](torch.zeros(SHAPE))
    for start in (1, 33, -12):
        now = ramp(SHAPE, start)
        x.copy_(impl.tensor(now))
        total.fill_(-99.0)
        replay(impl, graph, times=2)
        expect_equal(impl, total, fill + now, "each replay fills a tensor made inside the capture again")


@requirement("capture.intermediates")
def test_dropped_intermediates(impl: Adapter) -> None:
    """A long chain whose steps drop their inputs gives the right result in every replay."""
    x = impl.full(37, 0.0)

    def body() -> torch.Tensor:
        total = x.clone()
        for step in range(12):
            total = total * 2.0 - x + step
        return total

    graph, y = captured(impl, body)
    for start in (1.0, 5.0, -3.0):
        x.fill_(start)
        y.fill_(-1.0)
        replay(impl, graph)
        expected = start
        for step in range(12):
            expected = expected * 2.0 - start + step
        expect_equal(impl, y, expected, "intermediates hold their values while the graph's work needs them")


@requirement("capture.intermediates")
def test_eager_tensors_and_intermediates_do_not_meet(impl: Adapter) -> None:
    """Tensors made after the capture are not where a replay writes its dropped intermediates."""
    x = impl.full(SHAPE, 0.0)

    def body() -> torch.Tensor:
        first = x + 1.0
        second = first * 2.0
        third = second - 3.0
        del first, second
        return third * 4.0

    graph, y = captured(impl, body)
    others = [impl.full(SHAPE, float(number)) for number in range(24)]
    for start in (2, 27, -6):
        now = ramp(SHAPE, start)
        x.copy_(impl.tensor(now))
        y.fill_(-1.0)
        replay(impl, graph)
        expect_equal(impl, y, ((now + 1.0) * 2.0 - 3.0) * 4.0, "a replay gives the captured result")
        for number, other in enumerate(others):
            expect_equal(impl, other, float(number), "a replay writes no tensor that was made after the capture")


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(lambda x: x.t() + 1.0, id="transposed"),
        pytest.param(lambda x: x.to(torch.float16)[1:, ::2], id="sliced-half"),
        pytest.param(lambda x: x.sum(), id="zero-dim"),
        pytest.param(lambda x: x[:0] * 2.0, id="no-elements"),
    ],
)
@requirement("capture.outputs-exist")
def test_outputs_have_their_metadata(impl: Adapter, program: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """Shape, strides, dtype and device of a captured output are those of an eager one, before any replay."""
    x = impl.tensor(ramp(SHAPE))
    eager = program(ramp(SHAPE))
    inside: list[Any] = []

    def body() -> torch.Tensor:
        output = program(x)
        inside.append((output.shape, output.stride(), output.dtype, output.device))
        x.add_(0.0)  # so that no case is an empty capture
        return output

    _graph, y = captured(impl, body)
    metadata = (eager.shape, eager.stride(), eager.dtype, x.device)
    expect(
        inside == [metadata], "a captured output has the operator's metadata at once", f"{inside[0]}, not {metadata}"
    )
    now = (y.shape, y.stride(), y.dtype, y.device)
    expect(now == metadata, "a captured output keeps its metadata after the capture", f"{now}, not {metadata}")


@requirement("capture.outputs-before-replay")
def test_outputs_before_the_first_replay(impl: Adapter, observe: Callable[[str, Any], None]) -> None:
    """Records whether an output already holds its result after the capture."""
    x = impl.tensor(ramp(SHAPE, 1))
    _graph, y = captured(impl, lambda: x * 2.0)
    values = impl.read(y)
    observe("holds its result", bool(torch.equal(values, ramp(SHAPE, 1) * 2.0)))
    observe("is all NaN", bool(values.isnan().all()))
