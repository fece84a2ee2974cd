"""Memory, pools and random numbers after failed captures."""

from __future__ import annotations

import torch

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_no_raise
from conformance.markers import requirement
from suites.failed_capture.programs import Spoiler, basic, spoil
from suites.support.captures import open_capture
from suites.support.disturbances import attempt, host_read
from suites.support.memory import growth, settle, use_large_memory
from suites.support.programs import POISON, SIZE, Affine
from suites.support.recovery import expect_capture


@requirement("failed-capture.allocated-memory-returns")
def test_allocated(impl: Adapter) -> None:
    """Allocated bytes are back at their baseline."""
    stream, act = impl.new_stream(), host_read(impl)

    def fail() -> None:
        attempt(impl, lambda: use_large_memory(impl), act, stream=stream).graph.reset()

    difference = growth(impl, fail, impl.memory_allocated)
    expect(
        difference <= 0,
        "failed captures that were reset leave no memory allocated",
        f"{difference} bytes more after three",
    )


@requirement("failed-capture.reserved-memory-returns")
@basic
def test_reserved(impl: Adapter, spoiler: Spoiler) -> None:
    """Reserved bytes are back at their baseline."""
    stream, act = impl.new_stream(), spoiler(impl)

    def fail() -> None:
        attempt(impl, lambda: use_large_memory(impl), act, stream=stream).graph.reset()

    difference = growth(impl, fail, impl.memory_reserved)
    expect(
        difference <= 0,
        "the memory of failed captures that were reset serves what comes next",
        f"{difference} bytes more reserved after three",
    )


@requirement("failed-capture.pool-usable")
@basic
def test_pool_takes_next_capture(impl: Adapter, spoiler: Spoiler) -> None:
    """A graph captures into the pool that the failed capture used."""
    stream, holder = impl.new_stream(), impl.new_graph()
    expect_capture(impl, holder, "a graph captures and replays", stream=stream)
    pool = holder.pool()
    outcome = spoil(impl, spoiler, Affine(impl).body, stream=stream, pool=pool)
    expect_no_raise("reset works after a failed capture into a shared pool", outcome.graph.reset)
    promise = "after a failed capture into a shared pool another graph captures into it"
    graph, settings = impl.graph_for(pool=pool)
    expect_capture(impl, graph, promise, stream=stream, **settings)


@requirement("failed-capture.pool-usable")
def test_pool_holder_untouched(impl: Adapter) -> None:
    """The graph that held the pool before the failure replays the right values after it."""
    stream, holder = impl.new_stream(), impl.new_graph()
    program = expect_capture(impl, holder, "a graph captures and replays", stream=stream)
    spoil(impl, host_read, Affine(impl).body, stream=stream, pool=holder.pool()).graph.reset()
    settle(impl)
    filler = [impl.full(SIZE, -3.0) for _ in range(8)]  # takes the memory if it was wrongly given back
    program.check(impl, holder, "a graph replays right after another graph's capture into its pool failed")
    for tensor in filler:
        expect_equal(impl, tensor, -3.0, "a replay writes to no tensor made after a failed capture into its pool")


@requirement("failed-capture.held-pool-stays")
def test_pool_stays_reserved(impl: Adapter) -> None:
    """A failure gives up no memory that a live graph still replays in."""
    stream, holder, act = impl.new_stream(), impl.new_graph(), host_read(impl)
    with open_capture(impl, holder, stream=stream):
        use_large_memory(impl)
        holder.capture_end()
    pool = holder.pool()

    def fail() -> None:
        attempt(impl, lambda: use_large_memory(impl), act, stream=stream, pool=pool).graph.reset()

    difference = growth(impl, fail, impl.memory_reserved)
    expect(
        difference >= 0,
        "the memory of a pool that a graph holds stays reserved when another graph's capture into it fails",
        f"{-difference} bytes less reserved after three failures",
    )
    holder.replay()
    impl.synchronize()


@requirement("failed-capture.random-state-unaffected")
def test_random_state(impl: Adapter) -> None:
    """Eager random numbers after a failed capture are those that come without one."""

    def draw() -> torch.Tensor:
        return torch.rand(SIZE, device=impl.device)

    out = impl.full(SIZE, POISON)
    impl.manual_seed(2024)
    expected = [impl.read(draw()), impl.read(draw())]
    impl.manual_seed(2024)
    promise = "a failed capture consumes no random numbers and leaves the generator usable"
    spoil(impl, host_read, lambda: out.copy_(draw())).graph.reset()
    for values in expected:
        expect_equal(impl, expect_no_raise(promise, draw), values, promise)


@requirement("failed-capture.random-state-unaffected")
def test_random_capture_afterwards(impl: Adapter) -> None:
    """A good capture of random operators after a failed one replays the seeded sequence."""

    def draw() -> torch.Tensor:
        return torch.rand(SIZE, device=impl.device)

    out = impl.full(SIZE, POISON)
    impl.manual_seed(77)
    expected = [impl.read(draw()) for _ in range(3)]
    spoil(impl, host_read, lambda: out.copy_(draw())).graph.reset()
    outcome = attempt(impl, lambda: out.copy_(draw()), lambda: None)
    promise = "after a failed capture a capture of random operators replays what eager runs from the seed give"
    expect(outcome.ending is None, promise, str(outcome))
    impl.manual_seed(77)
    for values in expected:
        out.fill_(POISON)
        expect_no_raise(promise, outcome.graph.replay)
        expect_equal(impl, out, values, promise)
