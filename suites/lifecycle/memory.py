"""Memory: what graphs that are gone, or failed, leave behind, and what those that share with them keep."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import torch

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_no_raise
from suites.lifecycle.scenarios import Scenarios
from suites.support.captures import capture_into, captured, replay
from suites.support.disturbances import attempt, host_read
from suites.support.memory import churn, settle, use_large_memory
from suites.support.outcomes import caught
from suites.support.programs import POISON, chain
from suites.support.recovery import expect_capture, expect_eager_work

#: Elements of the tensors of these captures: not round, and more than a block of the smallest kind.
SIZE = 1031


def grown(impl: Adapter, cycle: Callable[[], Any]) -> tuple[int, int]:
    """By how many allocated and reserved bytes memory grows over two cycles, after one for what is made only once."""
    cycle()
    settle(impl)
    before = impl.memory_allocated(), impl.memory_reserved()
    for _ in range(2):
        cycle()
    settle(impl)
    if impl.memory_allocated() > before[0] or impl.memory_reserved() > before[1]:
        settle(impl, thorough=True)
    return impl.memory_allocated() - before[0], impl.memory_reserved() - before[1]


def expect_returned(impl: Adapter, cycle: Callable[[], Any], what: str) -> None:
    """Reject if cycles of graphs that are gone leave memory taken."""
    allocated, reserved = grown(impl, cycle)
    expect(allocated <= 0, f"{what} leave no memory allocated", f"{allocated} bytes more")
    expect(reserved <= 0, f"{what} give their pool's memory back to the system", f"{reserved} bytes more reserved")


def memory_comes_back(impl: Adapter, *, delete: bool, share: bool) -> None:
    """Two graphs, of one pool or of two, their tensors and a large temporary come and go."""
    source, stream = impl.full(SIZE, 1.0), impl.new_stream()

    def cycle() -> None:
        first = impl.new_graph()
        outputs = [capture_into(impl, first, lambda: chain(source, 3), stream=stream)]

        def body() -> torch.Tensor:
            use_large_memory(impl)
            return chain(source, 2)

        second, output = captured(impl, body, stream=stream, pool=first.pool() if share else None)
        outputs.append(output)
        del output
        for graph in (first, second):
            replay(impl, graph)
        if not delete:
            impl.reset(first)
            impl.reset(second)

    expect_returned(impl, cycle, f"graphs that were {'deleted' if delete else 'reset'}")


def pool_is_shared(impl: Adapter, *, delete: bool) -> None:
    """Of two graphs of one pool one goes, twice over, and the tensor that it made stays."""
    source, result = impl.full(SIZE, 1.0), impl.full(SIZE, POISON)
    first, kept = captured(impl, lambda: chain(source, 3))
    second, _ = captured(impl, lambda: result.copy_(chain(source, 5)), pool=first.pool())
    replay(impl, first)
    impl.reset(first)
    if delete:
        del first
    else:
        impl.reset(first)
    del _
    settle(impl)
    eager = churn(impl, POISON, (SIZE, SIZE, 37))
    expect_equal(impl, kept, 4.0, "a captured tensor keeps its values when its graph is gone")
    for value in (3.0, -7.0):
        source.fill_(value)
        result.fill_(POISON)
        replay(impl, second)
        expect_equal(impl, result, value + 5, "a graph survives what becomes of the other graph of its pool")
        for tensor in eager:
            expect_equal(impl, tensor, POISON, "a pool's memory is not given away while a graph uses it")
    expect_no_raise("the remaining graph of a pool has its own share in it", second.reset)


class Memory(Scenarios):
    """Graphs, alone or in one pool, whose memory is counted."""

    def scenario(self, pick: int, number: int, *, flag: bool) -> None:
        """Graphs come and go besides those of the other rules."""
        del pick, number
        share = self.impl.owes("pools")
        self.step(memory_comes_back, delete=flag, share=share)
        self.step(memory_comes_back, delete=not flag, share=share)
        if share:
            self.step(pool_is_shared, delete=flag)


def failures_leave_nothing(impl: Adapter, *, keep: bool | None) -> None:
    """Captures fail in pools of their own; their memory comes back."""
    stream, act = impl.new_stream(), host_read(impl)

    def fail() -> None:
        graph = impl.new_graph(keep)
        impl.reset(attempt(impl, lambda: use_large_memory(impl), act, graph=graph, stream=stream).graph)

    expect_returned(impl, fail, "failed captures that were reset")


def failure_spares_the_pool(impl: Adapter, holder: Any, *, keep: bool | None) -> None:
    """A capture fails in another graph's pool; that graph and the next capture into the pool are right."""
    stream = impl.new_stream()
    program = expect_capture(impl, holder, "a graph captures and replays", stream=stream)
    act = host_read(impl)
    impl.reset(attempt(impl, lambda: chain(program.x, 3), act, stream=stream, pool=holder.pool()).graph)
    settle(impl)
    filler = [impl.full(37, -3.0) for _ in range(4)]
    promise = "after a failed capture into a shared pool another graph captures into it"
    other, settings = impl.graph_for(keep, pool=holder.pool())
    expect_capture(impl, other, promise, stream=stream, **settings)
    program.check(impl, holder, "a graph replays right after another graph's capture into its pool failed")
    for tensor in filler:
        expect_equal(impl, tensor, -3.0, "a pool's memory is not given away while a graph uses it")


def failure_spares_the_generator(impl: Adapter) -> None:
    """A capture of random operators fails; the numbers that come next are those that come without it."""

    def draw() -> torch.Tensor:
        return torch.rand(37, device=impl.device)

    out = impl.full(37, 0.0)
    impl.manual_seed(2024)
    expected = [impl.read(draw()), impl.read(draw())]
    impl.manual_seed(2024)
    outcome = attempt(impl, lambda: out.copy_(draw()), host_read(impl))
    impl.reset(outcome.graph)
    if outcome.ending is None:
        return  # the capture did not fail, and whether a good one moves the generator is left open
    promise = "a failed capture consumes no random numbers and leaves the generator usable"
    for values in expected:
        expect_equal(impl, expect_no_raise(promise, draw), values, promise)


def failure_runs_no_hooks(impl: Adapter, graph: Any) -> None:
    """A capture fails whose graph has hooks."""
    calls: list[Any] = []
    tensor = impl.full(37, 0.0)
    handles = [graph.register_capture_end_hook(lambda _: calls.append("capture end"))]
    handles.append(graph.register_post_instantiate_hook(lambda _: calls.append("post instantiate")))
    outcome = attempt(impl, lambda: tensor.add_(1), host_read(impl), graph=graph)
    if outcome.ending is not None:
        expect(not calls, "no hook runs for a capture that failed", f"{calls}; {outcome}")
    for handle in handles:
        handle.remove()
    impl.reset(graph)


class AfterFailures(Scenarios):
    """Captures that fail, and what they leave of memory, pools, random numbers and hooks."""

    def scenario(self, pick: int, number: int, *, flag: bool) -> None:
        """Captures fail one after the other."""
        del pick, number
        keep = flag if self.impl.owes("keep_graph") else None
        if self.impl.owes("memory_stats"):
            self.step(failures_leave_nothing, keep=keep)
        if self.impl.owes("pools"):
            holder = self.vacant(keep)
            self.step(failure_spares_the_pool, holder, keep=keep)
            self.reset_it(holder)
        if self.impl.owes("rng"):
            self.step(failure_spares_the_generator)
        if self.impl.owes("hooks"):
            self.step(failure_runs_no_hooks, self.vacant(keep))


def abandoned(impl: Adapter, graphs: list[Any], stream: Any) -> None:
    """Begin a capture on `stream`, and reset its graph or let go of it in the middle."""
    with side_stream_left(impl, stream):
        graph = graphs[0]
        impl.capture_begin(graph)
        use_large_memory(impl)
        if len(graphs) > 1:
            refused = caught(graph.reset)
            if refused is not None:
                graph.capture_end()
        graphs.pop(0)
        del graph
        gc.collect(1)
        if impl.is_current_stream_capturing():
            gc.collect()
        capturing = impl.is_current_stream_capturing()
        if capturing:
            impl.abort_capture(impl.new_graph())
    promise = "when a graph is reset or deleted during its capture the stream stops capturing"
    expect(not capturing, promise, "the stream is still capturing, and nothing is left to end it with")


def side_stream_left(impl: Adapter, stream: Any) -> Any:
    """Make `stream` current, behind the work so far; it need not be waited for."""
    stream.wait_stream(impl.current_stream())
    return impl.stream(stream)


def abandoned_captures(impl: Adapter, stream: Any) -> None:
    """Captures are abandoned one after the other; streams, memory and later captures are as good as before."""

    def by_deletion() -> None:
        abandoned(impl, [impl.new_graph()], stream)

    def by_reset() -> None:
        graph = impl.new_graph()
        abandoned(impl, [graph, graph], stream)

    for abandon in (by_reset, by_deletion) if impl.has_reset else (by_deletion,):
        abandon()
        expect_eager_work(impl, stream, "after an abandoned capture its stream runs ordinary work")
        expect_capture(impl, impl.new_graph(), "after an abandoned capture another graph captures", stream=stream)


def abandoned_memory(impl: Adapter, stream: Any) -> None:
    """Captures that are abandoned give their memory back."""

    def cycle() -> None:
        if impl.has_reset:
            graph = impl.new_graph()
            abandoned(impl, [graph, graph], stream)
            del graph
        abandoned(impl, [impl.new_graph()], stream)

    expect_returned(impl, cycle, "captures that were abandoned")


class Abandoned(Scenarios):
    """Captures whose graph is reset or goes in the middle."""

    def scenario(self, pick: int, number: int, *, flag: bool) -> None:
        """Captures are abandoned on a stream that the other rules use as well."""
        del number, flag
        self.step(abandoned_captures, self.stream(pick))
        if self.impl.owes("memory_stats"):
            self.step(abandoned_memory, self.stream(pick))
