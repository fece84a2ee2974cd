"""A dead input stops every replay before anything is launched."""

from __future__ import annotations

import re

import pytest
import torch

from conformance.adapter import Adapter, in_thread
from conformance.checks import expect, expect_equal, expect_no_raise, expect_raises
from conformance.markers import needs, requirement
from suites.liveness.programs import add_one
from suites.support.captures import captured, open_capture
from suites.support.liveness import DEAD, UNTOUCHED, checked, expect_alive, expect_dead
from suites.support.phases import finish
from suites.support.programs import POISON, SIZE
from suites.support.streams import side_stream

#: Neither round nor small enough for a table of a fixed size that nobody thought of.
MANY = 133


@requirement("liveness.dead-input")
@pytest.mark.parametrize("replays", [0, 3, 70], ids=["before-the-first-replay", "after-three", "after-seventy"])
def test_replay_is_refused_once_an_input_is_deleted(impl: Adapter, replays: int) -> None:
    """Delete the only input before any replay, or after some that worked."""
    inputs = [impl.full(SIZE, 1.0)]
    graph, out = add_one(impl, inputs)
    for number in range(replays):
        inputs[0].fill_(10.0 * number)
        expect_alive(impl, graph, out, 10.0 * number + 1, "the input lives")
    inputs.clear()
    expect_dead(graph, "the input was deleted")


@requirement("liveness.dead-input")
@pytest.mark.parametrize(
    "dtype",
    [torch.int64, torch.bool, torch.complex64],
    ids=["int64", "bool", "complex64"],
)
def test_inputs_of_every_dtype_are_watched(impl: Adapter, dtype: torch.dtype) -> None:
    """The kind of element makes no difference."""
    inputs = [impl.full((3, 5), 1, dtype)]
    out = impl.full((3, 5), 0, dtype)
    graph, _ = checked(impl, lambda: out.copy_(inputs[0]))
    out.fill_(0)
    graph.replay()
    expect_equal(impl, out, 1, "a checked graph with a living input replays")
    inputs.clear()
    expect_dead(graph, f"an input of {dtype} was deleted")


@requirement("liveness.dead-input")
def test_the_check_through_plain_capture_begin(impl: Adapter) -> None:
    """capture_begin(check_input_liveness=True) without the context manager."""
    inputs = [impl.full(SIZE, 1.0)]
    out = impl.full(SIZE, POISON)
    graph = impl.new_graph()
    with side_stream(impl):
        impl.capture_begin(graph, liveness=True)
        try:
            out.copy_(inputs[0] + 1)
        finally:
            graph.capture_end()
    expect_alive(impl, graph, out, 2.0, "the input lives")
    inputs.clear()
    expect_dead(graph, "the input was deleted")


@requirement("liveness.dead-input")
@needs("fork_join")
def test_an_input_of_a_forked_stream(impl: Adapter) -> None:
    """Only work on a stream that was forked from the capture's uses the input."""
    inputs, out = [impl.full(SIZE, 1.0)], impl.full(SIZE, POISON)

    def body() -> None:
        here, side = impl.current_stream(), impl.new_stream()
        side.wait_stream(here)
        with impl.stream(side):
            out.copy_(inputs[0] + 1)
        here.wait_stream(side)

    graph, _ = checked(impl, body)
    expect_alive(impl, graph, out, 2.0, "the input lives")
    inputs.clear()
    expect_dead(graph, "the input, used on a forked stream, was deleted")


@requirement("liveness.dead-input")
def test_the_check_on_another_stream(impl: Adapter) -> None:
    """Whichever stream is current, a replay looks at the inputs."""
    inputs = [impl.full(SIZE, 1.0)]
    graph, out = add_one(impl, inputs)
    side = impl.new_stream()
    impl.synchronize()
    with impl.stream(side):
        expect_alive(impl, graph, out, 2.0, "the input lives")
        inputs.clear()
        expect_dead(graph, "the input was deleted, and the replay is on a stream of its own")


@requirement("liveness.dead-input")
@needs("threads")
def test_the_check_in_another_thread(impl: Adapter) -> None:
    """A replay from a thread that neither captured nor made the inputs looks at them, too."""
    inputs = [impl.full(SIZE, 1.0)]
    graph, out = add_one(impl, inputs)
    in_thread(lambda: expect_alive(impl, graph, out, 2.0, "the input lives"))
    inputs.clear()
    in_thread(lambda: expect_dead(graph, "the input was deleted, and the replay is in a thread of its own"))


@requirement("liveness.dead-input")
@needs("capture_phases")
def test_the_check_after_two_steps(impl: Adapter) -> None:
    """A capture that was ended in two steps is checked as any other."""
    inputs, out = [impl.full(SIZE, 1.0)], impl.full(SIZE, POISON)
    graph = impl.new_graph()
    with open_capture(impl, graph, liveness=True):
        out.copy_(inputs[0] + 1)
        graph.capture_end_pre()
    finish(graph, keep_graph=False)
    expect_alive(impl, graph, out, 2.0, "the input lives")
    inputs.clear()
    expect_dead(graph, "the input was deleted, and the capture was ended in two steps")


@requirement("liveness.positional-argument")
def test_the_check_as_third_positional_argument(impl: Adapter) -> None:
    """capture_begin(pool, mode, True)."""
    inputs = [impl.full(SIZE, 1.0)]
    out = impl.full(SIZE, POISON)
    graph = impl.new_graph()
    with side_stream(impl):
        expect_no_raise(
            "capture_begin takes check_input_liveness as its third argument, by position",
            lambda: graph.capture_begin(None, "global", True),
        )
        try:
            out.copy_(inputs[0] + 1)
        finally:
            graph.capture_end()
    expect_alive(impl, graph, out, 2.0, "the input lives")
    inputs.clear()
    expect_dead(graph, "the input was deleted")


@requirement("liveness.nothing-launched")
def test_a_refused_replay_writes_nothing(impl: Adapter) -> None:
    """Not even the work that comes before the first use of the dead input is launched."""
    source = impl.full(SIZE, 1.0)
    inputs = [impl.full(SIZE, 2.0)]
    counter = impl.full((3, 5), 0, torch.int64)

    def body() -> tuple[torch.Tensor, torch.Tensor]:
        counter.add_(1)
        before = source * 2
        return before, before + inputs[0]

    graph, outs = checked(impl, body)
    graph.replay()
    expect_equal(impl, outs[1], 4.0, "a checked graph with living inputs replays")
    inputs.clear()
    for _ in range(3):
        for out in outs:
            out.fill_(POISON)
        expect_raises(DEAD, graph.replay)
        for out in outs:
            expect_equal(impl, out, POISON, UNTOUCHED)
        expect_equal(impl, counter, 1, UNTOUCHED)


@requirement("liveness.every-replay")
def test_every_later_replay_is_refused(impl: Adapter) -> None:
    """The fifth replay is refused as the first was, on the default stream and on others."""
    inputs = [impl.full(SIZE, 1.0)]
    graph, _ = add_one(impl, inputs)
    inputs.clear()
    expect_dead(graph, "the input was deleted", times=5)
    for _ in range(2):
        with side_stream(impl):
            expect_dead(graph, "the input was deleted, replay on another stream")
    expect_dead(graph, "the input was deleted, replay on the first stream again")


@requirement("liveness.not-revived")
def test_a_new_tensor_does_not_revive_a_dead_input(impl: Adapter) -> None:
    """Allocations of the same size, one of which may get the old address, do not repair the graph."""
    inputs = [impl.full(SIZE, 1.0)]
    graph, _ = add_one(impl, inputs)
    inputs.clear()
    fresh = [impl.full(SIZE, 3.0) for _ in range(4)]
    expect_dead(graph, "the input was deleted and new tensors took its place")
    for tensor in fresh:
        expect_equal(impl, tensor, 3.0, UNTOUCHED)


@requirement("liveness.dies-during-capture")
def test_an_input_that_dies_inside_the_capture(impl: Adapter) -> None:
    """The input is used, then deleted, before the capture ends."""
    inputs = [impl.full(SIZE, 1.0)]
    out = impl.full(SIZE, POISON)

    def body() -> None:
        out.copy_(inputs[0] + 1)
        inputs.clear()
        out.mul_(2)

    graph, _ = checked(impl, body)
    expect_dead(graph, "the input was deleted inside the capture")


@requirement("liveness.one-of-several")
@pytest.mark.parametrize("dead", [0, 1, 2], ids=["first", "middle", "last"])
def test_one_dead_input_among_living_ones(impl: Adapter, dead: int) -> None:
    """Three inputs, any one of them gone."""
    inputs: list[torch.Tensor] = [impl.full(SIZE, value) for value in (1.0, 2.0, 4.0)]
    out = impl.full(SIZE, POISON)
    graph, _ = checked(impl, lambda: out.copy_((inputs[0] + inputs[1]) * inputs[2]))
    expect_alive(impl, graph, out, 12.0, "all three inputs live")
    inputs[dead] = out
    expect_dead(graph, f"input {dead} of three was deleted")


@requirement("liveness.one-of-several")
@pytest.mark.parametrize("dead", [0, MANY // 2, MANY - 1], ids=["first", "middle", "last"])
def test_one_dead_input_among_many(impl: Adapter, dead: int) -> None:
    """More inputs than anybody would keep a table for."""
    inputs: list[torch.Tensor] = [impl.full(SIZE, float(place)) for place in range(MANY)]
    out = impl.full(SIZE, POISON)
    graph, _ = checked(impl, lambda: out.copy_(sum(inputs[1:], inputs[0])))
    expect_alive(impl, graph, out, sum(range(MANY)), "all inputs live")
    inputs[dead] = out
    expect_dead(graph, f"input {dead} of {MANY} was deleted")


@requirement("liveness.message")
def test_the_error_says_how_many_or_which(impl: Adapter) -> None:
    """With three dead inputs the message holds their number, or the address or size of one."""
    inputs = [impl.full(size, 1.0) for size in (37, 15, 111)]
    addresses = [tensor.data_ptr() for tensor in inputs]
    outs = [impl.full(size, POISON) for size in (37, 15, 111)]
    graph, _ = checked(impl, lambda: [out.copy_(tensor * 2) for out, tensor in zip(outs, inputs, strict=True)])
    inputs.clear()
    message = str(expect_raises(DEAD, graph.replay)).lower()
    # A listing may stop after a few inputs, so naming one of them is enough.
    # A numeral may stand between letters of a script that writes no blanks.
    by_number = re.search(r"(?<![\w.])3(?!\w|\.\d)|\bthree\b", message, re.ASCII)
    by_address = any(f"{address:x}" in message or str(address) in message for address in addresses)
    by_size = any(re.search(rf"(?<!\d){size}(?!\d)", message) for size in (37, 15, 111))
    expect(
        by_number or by_address or by_size,
        "the error of the liveness check says how many inputs are dead, or which",
        f"three dead inputs, and the message {message!r}",
    )


@requirement("liveness.each-graph")
def test_each_graph_answers_for_its_own_inputs(impl: Adapter) -> None:
    """Of three checked graphs, the two that use the dead input are refused and the third replays."""
    shared, private = [impl.full(SIZE, 1.0)], [impl.full(SIZE, 5.0)]
    first, _ = add_one(impl, shared)
    second, _ = add_one(impl, shared)
    third, third_out = add_one(impl, private)
    shared.clear()
    for value in (6.0, -2.0):
        expect_dead(first, "an input of two graphs was deleted, replay of the first")
        expect_dead(second, "an input of two graphs was deleted, replay of the second")
        private[0].fill_(value)
        expect_alive(impl, third, third_out, value + 1, "only another graph's input is dead")


@requirement("liveness.each-graph")
@pytest.mark.parametrize("liveness", [False, True], ids=["unchecked", "checked"])
def test_what_later_captures_use_is_none_of_its_business(impl: Adapter, *, liveness: bool) -> None:
    """The check watches its own capture: an input of a later one dies, and the earlier graph replays."""
    inputs, later_inputs = [impl.full(SIZE, 1.0)], [impl.full(SIZE, 5.0)]
    first, out = add_one(impl, inputs)
    later, _ = captured(impl, lambda: later_inputs[0] * 2.0, liveness=liveness)
    later_inputs.clear()
    for value in (6.0, -2.0):
        inputs[0].fill_(value)
        expect_alive(impl, first, out, value + 1, "only an input of a capture made later is dead")
    later.reset()
