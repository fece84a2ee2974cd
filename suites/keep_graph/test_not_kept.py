"""keep_graph=False: the executable is made by capture_end, and the template is gone."""

from __future__ import annotations

from conformance.adapter import Adapter
from conformance.checks import expect_equal, expect_no_raise
from conformance.markers import requirement
from suites.support.captures import BOTH_WAYS, capture_by, captured, replay
from suites.support.handles import expect_no_handle
from suites.support.outcomes import caught
from suites.support.programs import Counter


@requirement("keep-graph.false-executable-at-capture-end")
def test_executable_exists_at_capture_end(impl: Adapter) -> None:
    """The executable is there as soon as the capture has ended, without instantiate or replay."""
    graph, _ = captured(impl, Counter(impl).body, keep_graph=False)
    expect_no_raise(
        "with keep_graph=False capture_end instantiates, so the executable's handle can be read at once",
        lambda: impl.raw_exec(graph),
    )


@requirement("keep-graph.false-replays-at-once")
def test_replays_without_instantiate(impl: Adapter) -> None:
    """Replay works straight after the capture, any number of times, on the data of the moment."""
    x = impl.full(37, 1.0)
    graph, out = captured(impl, lambda: x * 3, keep_graph=False)
    for value in (2.0, -5.0, 11.0, 11.0):
        x.fill_(value)
        out.fill_(-1.0)
        replay(impl, graph)
        expect_equal(
            impl, out, 3 * value, "after capture_end replay may be called; it works on the inputs of the moment"
        )


@requirement("keep-graph.false-made-by-capture-end")
@BOTH_WAYS
def test_each_replay_is_like_the_first(impl: Adapter, way: str) -> None:
    """Nobody has to instantiate: the replays straight after the capture each run the work once."""
    counter, graph = Counter(impl), impl.new_graph(keep_graph=False)
    capture_by(impl, way, graph, counter.body)
    counter.expect_runs(0, "capture_end makes the executable and runs nothing")
    for runs in (1, 2, 3):
        replay(impl, graph)
        counter.expect_runs(runs, "capture_end made the executable, which each replay runs once")


@requirement("keep-graph.false-template-destroyed")
def test_template_stays_gone_after_replay(impl: Adapter) -> None:
    """The template has no handle before and after replays, and asking does not harm the executable."""
    counter = Counter(impl)
    graph, _ = captured(impl, counter.body, keep_graph=False)
    for runs in (1, 2, 3):
        expect_no_handle("raw access to the template needs keep_graph=True", lambda: impl.raw_graph(graph))
        replay(impl, graph)
        counter.expect_runs(runs, "a refused call leaves the executable as it was")


@requirement("keep-graph.false-instantiate-refused")
def test_instantiate_changes_nothing(impl: Adapter) -> None:
    """instantiate(), refused or not, before and after a replay, runs nothing, and the graph goes on as before."""
    counter = Counter(impl)
    graph, _ = captured(impl, counter.body, keep_graph=False)
    promise = "with keep_graph=False capture_end made the executable, and instantiate() by the user leaves it"
    caught(graph.instantiate)
    counter.expect_runs(0, promise)
    replay(impl, graph, 2)
    counter.expect_runs(2, promise)
    caught(graph.instantiate)
    replay(impl, graph)
    counter.expect_runs(3, promise)
