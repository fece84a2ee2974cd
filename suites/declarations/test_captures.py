"""Probes of what a capture may be given, and of what it may record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from conformance.adapter import Adapter, in_thread
from conformance.checks import expect, expect_equal, expect_raises
from conformance.markers import requirement
from suites.declarations.programs import asked_since, judge_declaration, record
from suites.support.captures import open_capture, replay
from suites.support.disturbances import attempt
from suites.support.hooks import noting
from suites.support.liveness import expect_alive, expect_dead
from suites.support.modes import MODES, unsafe, unsafe_elsewhere
from suites.support.phases import capture_pre, finish
from suites.support.programs import POISON, SIZE, Affine

Observe = Callable[[str, Any], None]
VALUES = (3.0, -7.0, 11.0)


@requirement("declarations.pools")
def test_pools(impl: Adapter, observe: Observe) -> None:
    """A graph's token, a fresh handle and a MemPool, as far as they are documented, take the captures of others."""

    def probe() -> None:
        x = impl.full(SIZE, 1.0)
        first = impl.new_graph()
        y = record(impl, first, lambda: x + 1.0)
        for pool in _pools(impl, first):
            expect(pool is not None, "there is a token", "None")
            second, z = _recorded_into(impl, pool, lambda: x * 4.0)
            for value in VALUES:
                x.fill_(value)
                first.replay()
                second.replay()
                expect_equal(impl, y, value + 1.0, "a graph whose pool is shared replays its work")
                expect_equal(impl, z, value * 4.0, "a graph that was given a pool replays its work")

    judge_declaration(impl, "pools", probe, observe)


def _pools(impl: Adapter, graph: Any) -> list[Any]:
    """All that the documents let another capture be given."""
    pools = [graph.pool()]
    if impl.dialect != "accelerator":
        pools.append(impl.graph_pool_handle())
    if impl.dialect == "cuda" and asked_since(impl, "2.14"):
        pools += [impl.new_mem_pool(), *graph.pools()]
    return pools


def _recorded_into(impl: Adapter, pool: Any, body: Callable[[], Any]) -> tuple[Any, Any]:
    if impl.dialect == "accelerator":
        graph = impl.new_graph(pool=pool)
        return graph, record(impl, graph, body)
    graph = impl.new_graph()
    return graph, record(impl, graph, body, pool=pool)


@requirement("declarations.capture-modes")
def test_capture_modes(impl: Adapter, observe: Observe) -> None:
    """Each mode does what the documents say of the capturing thread, and another mode is refused."""

    def probe() -> None:
        if impl.dialect == "accelerator":
            _check_modes_of_the_constructor(impl)
        else:
            _check_modes_of_capture_begin(impl)

    judge_declaration(impl, "capture_modes", probe, observe)


def _check_modes_of_the_constructor(impl: Adapter) -> None:
    """What the modes refuse is up to the backend."""
    for mode in ("default", *MODES):
        graph, program = impl.new_graph(mode=mode), Affine(impl)
        record(impl, graph, program.body)
        program.check(impl, graph, "a capture in each mode replays its work")
    expect_raises("an unknown mode is refused", lambda: record(impl, impl.new_graph(mode="no-mode"), lambda: None))


def _check_modes_of_capture_begin(impl: Adapter) -> None:
    for mode in MODES:
        program = Affine(impl)
        outcome = attempt(impl, program.body, unsafe(impl), mode=mode)
        if mode == "relaxed":
            expect(
                outcome.refusal is None and outcome.ending is None, "relaxed lets unsafe calls through", str(outcome)
            )
            program.check(impl, outcome.graph, "an unsafe call leaves a relaxed capture whole")
        else:
            expect(outcome.refusal is not None, f"{mode} refuses the capturing thread's unsafe calls", str(outcome))
    expect_raises("an unknown mode is refused", lambda: record(impl, impl.new_graph(), lambda: None, mode="no-mode"))


@requirement("declarations.raw-allocation")
def test_raw_allocation(impl: Adapter, observe: Observe) -> None:
    """The call comes through outside a capture, and is refused in one whose mode forbids it."""

    def probe() -> None:
        impl.unsafe_call()
        mode = "global" if impl.dialect == "accelerator" and impl.owes("capture_modes") else None
        outcome = attempt(impl, Affine(impl).body, unsafe(impl), mode=mode)
        expect(outcome.refusal is not None, "a capture refuses what it calls unsafe", str(outcome))

    judge_declaration(impl, "raw_allocation", probe, observe)


@requirement("declarations.liveness")
def test_liveness(impl: Adapter, observe: Observe) -> None:
    """With the check on, a graph replays as long as its input lives, and is refused from then on."""

    def probe() -> None:
        # Neighbours in the allocator's block keep its memory mapped: a class without the check reads it once more.
        neighbours = [impl.full(SIZE, 0.0)]
        inputs, out = [impl.full(SIZE, 1.0)], impl.full(SIZE, POISON)
        neighbours.append(impl.full(SIZE, 0.0))
        graph = impl.new_graph()
        record(impl, graph, lambda: out.copy_(inputs[0] + 1.0), liveness=True)
        for value in VALUES:
            inputs[0].fill_(value)
            expect_alive(impl, graph, out, value + 1.0, "the input lives")
        inputs.clear()
        expect_dead(graph, "the input was deleted")

    judge_declaration(impl, "liveness", probe, observe)


@requirement("declarations.hooks")
def test_hooks(impl: Adapter, observe: Observe) -> None:
    """Both kinds of hooks run once, in order, with their graph and its handles; a removed one does not."""

    def probe() -> None:
        graph, program = impl.new_graph(), Affine(impl)
        calls: list[Any] = []

        def ended(argument: Any) -> None:
            calls.append(("ended", argument is graph, impl.raw_graph(argument) != 0))

        def instantiated(argument: Any) -> None:
            calls.append(("instantiated", argument is graph, impl.raw_exec(argument) != 0))

        handles = [
            graph.register_capture_end_hook(noting(calls, "removed")),
            graph.register_post_instantiate_hook(noting(calls, "removed")),
        ]
        graph.register_capture_end_hook(ended)
        graph.register_post_instantiate_hook(instantiated)
        for handle in handles:
            handle.remove()
        record(impl, graph, program.body)
        program.check(impl, graph, "hooks change nothing about replays")
        expected = [("ended", True, True), ("instantiated", True, True)]
        expect(calls == expected, "each hook runs once, at its moment, with the graph", f"{calls}")

    judge_declaration(impl, "hooks", probe, observe)


@requirement("declarations.capture-phases")
def test_capture_phases(impl: Adapter, observe: Observe) -> None:
    """The capture ends with the first phase, its template is there until the second, and the graph replays."""

    def probe() -> None:
        for keep_graph in (False, True):
            graph, program = impl.new_graph(keep_graph), Affine(impl)
            capture_pre(impl, graph, program.body)
            expect_equal(impl, program.out, POISON, "the first phase runs nothing")
            expect(impl.raw_graph(graph) != 0, "the template is live between the phases", "its handle is 0")
            finish(graph, keep_graph=keep_graph)
            program.check(impl, graph, "a graph that went through both phases replays")

    judge_declaration(impl, "capture_phases", probe, observe)


@requirement("declarations.rng")
def test_rng(impl: Adapter, observe: Observe) -> None:
    """Replays draw new numbers of the captured distribution, and the same ones after the same seed."""

    def probe() -> None:
        ones = impl.full(SIZE, 1.0)
        impl.manual_seed(7)
        graph = impl.new_graph()
        draw = record(impl, graph, lambda: torch.rand_like(ones))
        rounds = [_numbers(impl, graph, draw) for _ in range(2)]
        expect(len(set(rounds[0])) == len(rounds[0]), "each replay draws new numbers", "two replays drew the same")
        expect(rounds[0] == rounds[1], "a seed decides what replays draw", "other numbers after the same seed")

    judge_declaration(impl, "rng", probe, observe)


def _numbers(impl: Adapter, graph: Any, draw: torch.Tensor) -> list[tuple[float, ...]]:
    """What three replays draw after a seed."""
    impl.manual_seed(1234)
    draws = []
    for _ in range(3):
        draw.fill_(POISON)
        graph.replay()
        numbers = impl.read(draw)
        inside = bool(((numbers >= 0.0) & (numbers < 1.0)).all()) and len(set(numbers.tolist())) > 1
        expect(inside, "a replay draws numbers from 0 to 1", f"{numbers.tolist()}")
        draws.append(tuple(numbers.tolist()))
    return draws


@requirement("declarations.fork-join")
def test_fork_join(impl: Adapter, observe: Observe) -> None:
    """Work on a stream that forks and joins, by waiting for the stream or for an event, is captured in its place."""

    def probe() -> None:
        for wait in (_wait_for_stream, _wait_for_event):
            _check_fork(impl, wait)

    judge_declaration(impl, "fork_join", probe, observe)


def _check_fork(impl: Adapter, wait: Callable[[Adapter, Any, Any], None]) -> None:
    x, side = impl.full(SIZE, 5.0), impl.new_stream()

    def body() -> None:
        main = impl.current_stream()
        x.mul_(2.0)
        wait(impl, side, main)
        with impl.stream(side):
            x.add_(3.0)
        wait(impl, main, side)
        x.mul_(10.0)

    graph = impl.new_graph()
    record(impl, graph, body)
    expect_equal(impl, x, 5.0, "forked work does not run at the capture")
    for value in VALUES:
        x.fill_(value)
        replay(impl, graph)
        expect_equal(impl, x, (value * 2.0 + 3.0) * 10.0, "forked work runs in its place")


def _wait_for_stream(_impl: Adapter, later: Any, earlier: Any) -> None:
    later.wait_stream(earlier)


def _wait_for_event(impl: Adapter, later: Any, earlier: Any) -> None:
    event = impl.new_event()
    event.record(earlier)
    event.wait(later)


@requirement("declarations.threads")
def test_threads(impl: Adapter, observe: Observe) -> None:
    """Another thread captures, works in a capture of this one, and is refused or not as the mode says."""

    def probe() -> None:
        graph, program = impl.new_graph(), Affine(impl)
        in_thread(lambda: record(impl, graph, program.body))
        program.check(impl, graph, "what another thread captured replays here")
        in_thread(lambda: program.check(impl, graph, "what another thread captured replays there"))
        _check_work_of_another_thread(impl)
        if impl.dialect == "cuda" and asked_since(impl, "2.1"):
            _check_modes_for_other_threads(impl)

    judge_declaration(impl, "threads", probe, observe)


def _check_work_of_another_thread(impl: Adapter) -> None:
    graph, program = impl.new_graph(), Affine(impl)
    program.body()  # loads the kernels, so that the other thread launches them and does nothing else
    impl.synchronize()
    program.out.fill_(POISON)

    def elsewhere(stream: Any) -> None:
        with impl.stream(stream):
            program.second_half()

    with open_capture(impl, graph) as stream:
        program.first_half()
        in_thread(lambda: elsewhere(stream))
        graph.capture_end()
    expect_equal(impl, program.out, POISON, "work that another thread gives to a capture does not run")
    program.check(impl, graph, "work that another thread gives to a capture is captured")


def _check_modes_for_other_threads(impl: Adapter) -> None:
    refused = attempt(impl, Affine(impl).body, unsafe_elsewhere(impl), mode="global")
    expect(refused.refusal is not None, "global refuses other threads' unsafe calls", str(refused))
    program = Affine(impl)
    for mode in ("thread_local", "relaxed"):
        allowed = attempt(impl, program.body, unsafe_elsewhere(impl), mode=mode)
        fine = allowed.refusal is None and allowed.ending is None
        expect(fine, f"{mode} lets other threads' unsafe calls through", str(allowed))
        program.check(impl, allowed.graph, "a call of another thread leaves the capture whole")
