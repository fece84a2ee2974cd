"""A replay works on memory, not on Python objects: it reads and writes the captured addresses."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal
from conformance.markers import requirement
from suites.support.captures import captured, replay
from suites.support.programs import ramp

SHAPE = (3, 5)

GRADIENT_MODES = (torch.inference_mode, torch.no_grad, torch.enable_grad)


@requirement("replay.performs-work")
def test_once_for_each_call(impl: Adapter) -> None:
    """A counter in device memory counts the replays."""
    x = impl.full(37, 0.0)
    graph, _ = captured(impl, lambda: x.add_(1.0))
    for count in range(1, 6):
        replay(impl, graph)
        expect_equal(impl, x, float(count), "each replay performs the captured work once")


@requirement("replay.performs-work")
def test_many_replays_without_waiting(impl: Adapter) -> None:
    """Replays that are issued one after the other all run, in their order."""
    x = impl.full(37, 0.0)
    graph, _ = captured(impl, lambda: x.mul_(0.5).add_(1.0))
    expected = 0.0
    for _ in range(12):
        graph.replay()
        expected = expected * 0.5 + 1.0
    expect_equal(impl, x, expected, "replays issued without waiting all run, one after the other")


@requirement("replay.performs-work")
def test_more_than_a_thousand_replays(impl: Adapter) -> None:
    """None of them is lost or done twice, as where launches go through a ring of slots."""
    x = impl.full(37, 0.0)
    graph, _ = captured(impl, lambda: x.add_(1.0))
    for count in range(60, 301, 60):
        replay(impl, graph, times=60)
        expect_equal(impl, x, float(count), "each replay performs the captured work once")
    for _ in range(9):
        replay(impl, graph, times=1100)
    expect_equal(impl, x, 10_200.0, "each replay performs the captured work once, the ten thousandth as well")


@pytest.mark.parametrize("mode", GRADIENT_MODES)
@requirement("replay.performs-work")
def test_in_a_gradient_mode(impl: Adapter, mode: type) -> None:
    """What the program does about gradients concerns its operators, and a replay calls none."""
    x = impl.full(37, 0.0)
    graph, _ = captured(impl, lambda: x.add_(1.0))
    replay(impl, graph)
    with mode():
        replay(impl, graph, times=2)
    expect_equal(impl, x, 3.0, f"a replay inside {mode.__name__} performs the captured work as any other")
    replay(impl, graph)
    expect_equal(impl, x, 4.0, f"a replay after {mode.__name__} performs the captured work as any other")


@pytest.mark.parametrize("mode", GRADIENT_MODES)
@requirement("replay.performs-work")
def test_captured_in_a_gradient_mode(impl: Adapter, mode: type) -> None:
    """A graph has what the operators did, also when the mode is over by the time of the replay."""
    x, total = impl.full(37, 1.0), impl.full(37, 0.0)

    def body() -> torch.Tensor:
        twice = x * 2
        total.add_(twice)
        return twice

    with mode():
        graph, twice = captured(impl, body)
    for value, expected in ((3.0, 6.0), (-5.0, -4.0)):
        x.fill_(value)
        replay(impl, graph)
        expect_equal(impl, twice, value * 2, f"a graph that was captured inside {mode.__name__} makes its results")
        expect_equal(impl, total, expected, f"a graph that was captured inside {mode.__name__} writes to its inputs")


@requirement("replay.performs-work")
def test_two_graphs_of_one_body(impl: Adapter) -> None:
    """Two captures of the same work are two graphs: replaying one says nothing about the other."""
    x = impl.full(37, 0.0)

    def body() -> torch.Tensor:
        return x + 1.0

    one, y = captured(impl, body)
    two, z = captured(impl, body)
    y.fill_(-1.0)
    z.fill_(-2.0)
    replay(impl, one, times=2)
    expect_equal(impl, y, 1.0, "a graph writes its own outputs")
    expect_equal(impl, z, -2.0, "a graph does not write the outputs of another capture of the same work")
    replay(impl, two)
    expect_equal(impl, z, 1.0, "a graph writes its own outputs")


@pytest.mark.parametrize("refill", ["copy", "fill", "operator", "view"])
@requirement("replay.reads-current-values")
def test_inputs_refilled_in_place(impl: Adapter, refill: str) -> None:
    """However an input was refilled, the next replay reads the new values."""
    x = impl.tensor(ramp(SHAPE))
    graph, y = captured(impl, lambda: x * 2.0 + 1.0)
    for start in (3, 50, -9):
        now = ramp(SHAPE, start)
        if refill == "copy":
            x.copy_(impl.tensor(now))
        elif refill == "fill":
            now = torch.full(SHAPE, float(start))
            x.fill_(float(start))
        elif refill == "operator":
            torch.add(impl.tensor(now), 0.0, out=x)
        else:
            x.view(-1).copy_(impl.tensor(now.view(-1)))
        y.fill_(-1.0)
        replay(impl, graph)
        expect_equal(impl, y, now * 2.0 + 1.0, "a replay reads what its inputs hold now")


@requirement("replay.rebound-names")
def test_input_name_rebound(impl: Adapter) -> None:
    """Binding the input's name to another tensor does not redirect the replay."""
    x = original = impl.full(37, 1.0)
    graph, y = captured(impl, lambda: x * 2.0)
    x = impl.full(37, 100.0)
    replay(impl, graph)
    expect_equal(impl, y, 2.0, "a replay reads the captured memory, not what the name now means")
    original.fill_(5.0)
    y.fill_(-1.0)
    replay(impl, graph)
    expect_equal(impl, y, 10.0, "a replay reads the captured memory, not what the name now means")
    expect_equal(impl, x, 100.0, "a replay leaves the tensor alone that the name now means")


@requirement("replay.rebound-names")
def test_output_name_rebound(impl: Adapter) -> None:
    """Binding the output's name to another tensor does not redirect the replay."""
    x = impl.full(37, 1.0)
    y = destination = impl.full(37, -1.0)
    graph, _ = captured(impl, lambda: torch.mul(x, 3.0, out=y))
    y = impl.full(37, -2.0)
    for value in (4.0, 6.0, -1.0):
        x.fill_(value)
        destination.fill_(-1.0)
        replay(impl, graph)
        expect_equal(impl, destination, value * 3.0, "a replay writes the captured memory")
        expect_equal(impl, y, -2.0, "a replay leaves the tensor alone that the name now means")


@requirement("replay.rebound-names")
def test_attribute_rebound(impl: Adapter) -> None:
    """A tensor replaced on its owner is not seen; the captured one, kept alive, is."""
    owner = SimpleNamespace(weight=impl.full(37, 2.0))
    weight, x = owner.weight, impl.full(37, 3.0)
    graph, y = captured(impl, lambda: x * owner.weight)
    owner.weight = impl.full(37, 50.0)
    replay(impl, graph)
    expect_equal(impl, y, 6.0, "a replay reads the captured tensor's memory")
    weight.fill_(7.0)
    y.fill_(-1.0)
    replay(impl, graph)
    expect_equal(impl, y, 21.0, "a replay reads the captured tensor's memory")


@requirement("replay.static-outputs")
def test_outputs_stay_where_they_are(impl: Adapter) -> None:
    """Outputs keep object, address, shape and strides; aliases of them see each replay."""
    x = impl.tensor(ramp(SHAPE))
    graph, (y, total) = captured(impl, lambda: ((x + 1.0).t(), x.sum()))
    before = [(tensor.data_ptr(), tensor.shape, tensor.stride()) for tensor in (y, total)]
    alias = y.detach()
    for start in (0, 9, -14):
        now = ramp(SHAPE, start)
        x.copy_(impl.tensor(now))
        y.fill_(-1.0)
        total.fill_(-1.0)
        replay(impl, graph)
        after = [(tensor.data_ptr(), tensor.shape, tensor.stride()) for tensor in (y, total)]
        expect(after == before, "outputs keep their memory, shape and strides", f"{after}, before: {before}")
        expect_equal(impl, y, (now + 1.0).t(), "a replay writes the output that the capture returned")
        expect_equal(impl, alias, (now + 1.0).t(), "an alias of an output sees what a replay wrote")
        expect_equal(impl, total, now.sum(), "a replay writes the output that the capture returned")


@requirement("replay.static-outputs")
def test_inputs_stay_where_they_are(impl: Adapter) -> None:
    """Tensors that the graph reads or changes in place keep their addresses."""
    x, y = impl.full(37, 1.0), impl.full(37, 2.0)
    graph, _ = captured(impl, lambda: y.add_(x))
    before = (x.data_ptr(), y.data_ptr())
    replay(impl, graph, times=3)
    after = (x.data_ptr(), y.data_ptr())
    expect(after == before, "a replay moves no tensor", f"{after}, before: {before}")
    expect_equal(impl, y, 5.0, "a replay changes a tensor in place")


@requirement("replay.static-outputs")
def test_saved_results_must_be_copies(impl: Adapter) -> None:
    """A clone of an output keeps its value over the next replay; the output itself does not."""
    x = impl.full(37, 1.0)
    graph, y = captured(impl, lambda: x * 10.0)
    replay(impl, graph)
    copy = y.clone()
    x.fill_(2.0)
    replay(impl, graph)
    expect_equal(impl, copy, 10.0, "a copy of an output belongs to the user")
    expect_equal(impl, y, 20.0, "the output itself is overwritten by the next replay")


@pytest.mark.parametrize("value", [-5.0, float("nan")], ids=["number", "nan"])
@requirement("replay.overwrites-outputs")
def test_written_outputs_are_overwritten(impl: Adapter, value: float) -> None:
    """Every element of an output that was filled by hand is written again."""
    x = impl.tensor(ramp((7, 5)))
    graph, y = captured(impl, lambda: x + 3.0)
    for _ in range(3):
        y.fill_(value)
        replay(impl, graph)
        expect_equal(impl, y, ramp((7, 5)) + 3.0, "a replay overwrites every element of an output")


@requirement("replay.touches-nothing-else")
def test_neighbours_are_left_alone(impl: Adapter) -> None:
    """Parts of a buffer that the captured work does not write keep what was put there after the capture."""
    buffer, x = impl.full(41, 0.0), impl.full(7, 0.0)
    graph, _ = captured(impl, lambda: buffer[11:18].copy_(x))
    for value in (1.0, 8.0, -3.0):
        buffer.fill_(value * 100.0)
        x.fill_(value)
        replay(impl, graph)
        expected = torch.full((41,), value * 100.0)
        expected[11:18] = value
        expect_equal(impl, buffer, expected, "a replay writes what the captured work writes, and nothing besides")


@requirement("replay.touches-nothing-else")
def test_inputs_are_left_alone(impl: Adapter) -> None:
    """Inputs that are only read keep what they hold."""
    x, y = impl.tensor(ramp(SHAPE)), impl.tensor(ramp(SHAPE, 20))
    graph, z = captured(impl, lambda: x * y)
    for start in (5, 13, -2):
        x.copy_(impl.tensor(ramp(SHAPE, start)))
        replay(impl, graph, times=2)
        expect_equal(impl, x, ramp(SHAPE, start), "a replay leaves what it only reads as it is")
        expect_equal(impl, y, ramp(SHAPE, 20), "a replay leaves what it only reads as it is")
        expect_equal(impl, z, ramp(SHAPE, start) * ramp(SHAPE, 20), "a replay computes its output")
