"""keep_graph=True: the template lives on; the executable is made by instantiate() or by the first replay."""

from __future__ import annotations

import contextlib

from conformance.adapter import Adapter, in_thread
from conformance.checks import expect, expect_equal, expect_no_raise
from conformance.markers import requirement
from suites.support.captures import captured, replay
from suites.support.handles import expect_no_handle
from suites.support.needs import need_capability
from suites.support.programs import Counter


@requirement("keep-graph.true-no-executable-at-capture-end")
def test_no_executable_at_capture_end(impl: Adapter) -> None:
    """No executable exists between capture_end and the first instantiate or replay."""
    graph, _ = captured(impl, Counter(impl).body, keep_graph=True)
    promise = "with keep_graph=True capture_end does not instantiate, so there is no executable's handle"
    expect_no_handle(promise, lambda: impl.raw_exec(graph))


@requirement("keep-graph.true-first-replay-instantiates")
def test_first_replay_instantiates(impl: Adapter) -> None:
    """A replay without a preceding instantiate() makes the executable and runs it once."""
    counter = Counter(impl)
    graph, _ = captured(impl, counter.body, keep_graph=True)
    counter.expect_runs(0, "a capture runs nothing")
    expect_no_raise("the first replay instantiates when instantiate() was not called", graph.replay)
    counter.expect_runs(1, "the first replay instantiates and then runs the captured work once")
    replay(impl, graph, 3)
    counter.expect_runs(4, "later replays run the captured work once each")


@requirement("keep-graph.true-first-replay-executable")
def test_first_replay_leaves_an_executable(impl: Adapter) -> None:
    """After the first replay the executable's handle can be read."""
    graph, _ = captured(impl, Counter(impl).body, keep_graph=True)
    replay(impl, graph)
    expect_no_raise("the first replay instantiates, so an executable exists afterwards", lambda: impl.raw_exec(graph))


@requirement("keep-graph.true-explicit-instantiate")
def test_explicit_instantiate_then_replay(impl: Adapter) -> None:
    """instantiate() after capture_end makes the executable that replays run."""
    x = impl.full((3, 5), 0.0)
    graph, out = captured(impl, lambda: x + 4, keep_graph=True)
    expect_no_raise("with keep_graph=True the user may call instantiate() after capture_end", graph.instantiate)
    for value in (1.0, -8.0, 0.5):
        x.fill_(value)
        out.fill_(99.0)
        replay(impl, graph)
        expect_equal(impl, out, value + 4, "replay runs the executable that instantiate() made")


@requirement("keep-graph.instantiate-runs-nothing")
def test_instantiate_runs_nothing(impl: Adapter) -> None:
    """instantiate(), the first and later ones, does not run the captured work."""
    counter = Counter(impl)
    graph, _ = captured(impl, counter.body, keep_graph=True)
    for _ in range(3):
        graph.instantiate()
    counter.expect_runs(0, "instantiate() makes an executable; only replay runs it")
    replay(impl, graph)
    graph.instantiate()
    counter.expect_runs(1, "instantiate() makes an executable; only replay runs it")


@requirement("keep-graph.true-only-first-replay-instantiates")
def test_later_replays_keep_the_executable_of_the_first(impl: Adapter) -> None:
    """Only the first replay instantiates: the executable's handle stays the same over later ones."""
    graph, _ = captured(impl, Counter(impl).body, keep_graph=True)
    replay(impl, graph)
    first = impl.raw_exec(graph)
    for _ in range(4):
        replay(impl, graph)
        now = impl.raw_exec(graph)
        expect(now == first, "only the first replay instantiates", f"the handle changed from {first:#x} to {now:#x}")


@requirement("keep-graph.true-only-first-replay-instantiates")
def test_replays_keep_an_explicit_executable(impl: Adapter) -> None:
    """After instantiate() no replay instantiates, on whichever stream: the executable's handle stays the same."""
    graph, _ = captured(impl, Counter(impl).body, keep_graph=True)
    graph.instantiate()
    first = impl.raw_exec(graph)
    streams = [impl.new_stream() for _ in range(2)]
    for turn in range(6):
        with impl.stream(streams[turn % 3]) if turn % 3 < len(streams) else contextlib.nullcontext():
            replay(impl, graph)
        now = impl.raw_exec(graph)
        expect(
            now == first,
            "replay instantiates only if instantiate() was not called before",
            f"the handle changed from {first:#x} to {now:#x}",
        )


@requirement("keep-graph.true-only-first-replay-instantiates")
def test_replays_of_another_thread_keep_the_executable(impl: Adapter) -> None:
    """Nor does a replay in a thread that neither captured nor instantiated."""
    need_capability(impl, "threads")
    counter = Counter(impl)
    graph, _ = captured(impl, counter.body, keep_graph=True)
    graph.instantiate()
    first = impl.raw_exec(graph)
    in_thread(lambda: replay(impl, graph, 2))
    now = impl.raw_exec(graph)
    promise = "replay instantiates only if instantiate() was not called before, in whichever thread"
    expect(now == first, promise, f"the handle changed from {first:#x} to {now:#x}")
    counter.expect_runs(2, "a replay in another thread performs the captured work")


@requirement("keep-graph.template-survives-instantiate")
def test_template_survives_instantiate(impl: Adapter) -> None:
    """The template's handle is the same after every instantiate()."""
    graph, _ = captured(impl, Counter(impl).body, keep_graph=True)
    before = impl.raw_graph(graph)
    for _ in range(3):
        graph.instantiate()
        after = expect_no_raise("instantiate() does not destroy the template", lambda: impl.raw_graph(graph))
        expect(
            after == before,
            "instantiate() does not destroy the template that the handle names",
            f"the handle changed from {before:#x} to {after:#x}",
        )


@requirement("keep-graph.template-survives-replay")
def test_template_survives_replay(impl: Adapter) -> None:
    """The template's handle is the same after the instantiating replay and after later ones."""
    graph, _ = captured(impl, Counter(impl).body, keep_graph=True)
    before = impl.raw_graph(graph)
    for _ in range(3):
        replay(impl, graph)
        after = expect_no_raise("with keep_graph=True replays leave the template alone", lambda: impl.raw_graph(graph))
        expect(
            after == before,
            "with keep_graph=True the template is preserved over replays",
            f"the handle changed from {before:#x} to {after:#x}",
        )
