"""What each phase does."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_no_raise
from conformance.markers import requirement
from suites.capture_phases.programs import begun, finished
from suites.support.captures import open_capture, replay
from suites.support.editor import Editor
from suites.support.handles import exec_handle, expect_no_handle, launch
from suites.support.phases import capture_pre, finish
from suites.support.programs import Affine, Counter
from suites.support.states import KEEP
from suites.support.streams import side_stream


@requirement("capture-phases.pre-ends-capture")
@KEEP
def test_capture_is_over(impl: Adapter, *, keep_graph: bool) -> None:
    """Work on the same stream after the first phase runs at once and is in no replay."""
    counter, later = Counter(impl), Counter(impl, step=10.0)
    graph = impl.new_graph(keep_graph)
    with open_capture(impl, graph):
        counter.body()
        expect_no_raise("capture_end_pre ends a capture that is under way", graph.capture_end_pre)
        capturing = impl.is_current_stream_capturing()
        if not capturing:
            later.body()
    expect(not capturing, "capture_end_pre ends the capture", "the stream is still capturing")
    later.expect_runs(1, "work after capture_end_pre runs at once")
    finish(graph, keep_graph=keep_graph)
    impl.synchronize()
    before = impl.read(counter.tensor)
    replay(impl, graph, 3)
    later.expect_runs(1, "work after capture_end_pre is no part of the graph")
    expect_equal(impl, counter.tensor, before + 3, "each replay runs the captured work once")


@requirement("capture-phases.pre-runs-nothing")
@KEEP
def test_phases_run_nothing(impl: Adapter, *, keep_graph: bool) -> None:
    """After each phase the captured work has not run."""
    counter, graph = Counter(impl), impl.new_graph(keep_graph)
    capture_pre(impl, graph, counter.body)
    counter.expect_runs(0, "capture_end_pre does not run the captured work")
    # A class may want the graph instantiated before it destroys the template.
    with contextlib.nullcontext() if keep_graph else contextlib.suppress(Exception):
        graph.capture_end_post()
    counter.expect_runs(0, "capture_end_post does not run the captured work")


@requirement("capture-phases.pre-template-live")
@KEEP
def test_template_between(impl: Adapter, *, keep_graph: bool) -> None:
    """The template has a handle, the same at each call."""
    graph, _ = begun(impl, keep_graph=keep_graph)
    promise = "between the phases the template's handle can be read"
    first = expect_no_raise(promise, lambda: impl.raw_graph(graph))
    second = expect_no_raise(promise, lambda: impl.raw_graph(graph))
    expect(first == second, "between the phases the graph has one template", f"{first}, then {second}")


@requirement("capture-phases.pre-template-has-work")
@KEEP
def test_template_holds_the_work(impl: Adapter, *, keep_graph: bool) -> None:
    """What the runtime makes of the template behind the handle does the captured work, in its order."""
    x, graph = impl.full(37, 1.0), impl.new_graph(keep_graph)

    def body() -> None:
        x.add_(1)
        x.mul_(2)
        x.sub_(3)

    capture_pre(impl, graph, body)
    template = Editor(impl, graph)
    promise = "the template between the phases holds the captured work and its order"
    expect(bool(template.nodes()), promise, "it has no nodes")
    with template.executable() as executable:
        # No other order of the three operators gives these values, and no two of them alone.
        for value in (5.0, -2.0, 11.0):
            x.fill_(value)
            launch(impl, executable)
            expect_equal(impl, x, (value + 1) * 2 - 3, promise)


@requirement("capture-phases.pre-template-dumpable")
@KEEP
def test_template_can_be_dumped(impl: Adapter, tmp_path: Path, *, keep_graph: bool) -> None:
    """debug_dump writes the template."""
    graph, _ = begun(impl, keep_graph=keep_graph)
    path = tmp_path / "between.dot"
    expect_no_raise("between the phases the template can be dumped", lambda: impl.debug_dump(graph, str(path)))
    expect(path.is_file() and path.stat().st_size > 0, "the dump is written", "there is no file, or an empty one")


@requirement("capture-phases.pre-no-executable")
def test_no_executable_between(impl: Adapter) -> None:
    """With keep_graph=True there is no executable between the phases, nor after them."""
    graph, program = begun(impl, keep_graph=True)
    promise = "with keep_graph=True there is no executable's handle before instantiate()"
    expect_no_handle(promise, lambda: exec_handle(impl, graph))
    graph.capture_end_post()
    expect_no_handle(promise, lambda: exec_handle(impl, graph))
    graph.instantiate()
    expect_no_raise("after instantiate() the executable's handle can be read", lambda: exec_handle(impl, graph))
    program.check(impl, graph, "a refused handle changes nothing")


@requirement("capture-phases.post-destroys-template")
def test_template_goes(impl: Adapter) -> None:
    """With keep_graph=False the template is gone after the second phase, each time, and the graph replays without."""
    graph, promise = impl.new_graph(keep_graph=False), "with keep_graph=False capture_end_post destroys the template"
    for _ in range(3):
        program = Affine(impl)
        capture_pre(impl, graph, program.body)
        finish(graph, keep_graph=False)
        expect_no_handle(promise, lambda: impl.raw_graph(graph))
        program.check(impl, graph, "a graph that went through both phases replays")
        expect_no_handle(promise, lambda: impl.raw_graph(graph))
        graph.reset()


@requirement("capture-phases.post-keeps-template")
def test_template_stays(impl: Adapter) -> None:
    """With keep_graph=True the handle is the same after the second phase."""
    graph, _ = begun(impl, keep_graph=True)
    between = impl.raw_graph(graph)
    graph.capture_end_post()
    promise = "with keep_graph=True capture_end_post keeps the template"
    after = expect_no_raise(promise, lambda: impl.raw_graph(graph))
    expect(after == between, promise, f"the handle {between} became {after}")


@requirement("capture-phases.replayable")
def test_replay_after_both(impl: Adapter) -> None:
    """With keep_graph=False the graph replays, with new inputs, any number of times."""
    graph, program = begun(impl, keep_graph=False)
    how = finish(graph, keep_graph=False)
    impl.synchronize()
    program.check(impl, graph, f"a graph that went through both phases replays (instantiated by: {how})")
    program.check(impl, graph, f"a graph that went through both phases keeps replaying (instantiated by: {how})")


@requirement("capture-phases.replayable")
def test_replay_on_other_streams(impl: Adapter) -> None:
    """The second phase may come with another stream current, and replays go to any."""
    graph, program = begun(impl, keep_graph=False)
    with side_stream(impl):
        how = finish(graph, keep_graph=False)
    impl.synchronize()
    for value in (5.0, -2.0, 11.0):
        program.x.fill_(value)
        program.out.fill_(-1.0)
        with side_stream(impl):
            graph.replay()
        expect_equal(
            impl, program.out, value * program.factor + 1, f"the graph replays on any stream (instantiated by: {how})"
        )


@requirement("capture-phases.kept-replayable")
def test_kept_graph_is_instantiated(impl: Adapter) -> None:
    """With keep_graph=True instantiate() works after the phases, and again."""
    graph, program = finished(impl, keep_graph=True)
    for _ in range(2):
        expect_no_raise("a kept graph can be instantiated after both phases", graph.instantiate)
        program.check(impl, graph, "a kept graph that went through both phases replays")


@requirement("capture-phases.kept-replayable")
def test_kept_graph_is_instantiated_by_replay(impl: Adapter) -> None:
    """With keep_graph=True the first replay after the phases instantiates."""
    graph, program = finished(impl, keep_graph=True)
    program.check(impl, graph, "the first replay of a kept graph instantiates it")


@requirement("capture-phases.kept-replayable")
def test_kept_graph_is_instantiated_between(impl: Adapter) -> None:
    """With keep_graph=True an executable made between the phases lasts, and the template can be instantiated again."""
    graph, program = begun(impl, keep_graph=True)
    try:
        graph.instantiate()
    except Exception:  # left open: the documents promise it after the capture's end
        handles: list[Any] = []
    else:
        handles = [exec_handle(impl, graph)]
    graph.capture_end_post()
    if handles:
        now = exec_handle(impl, graph)
        expect(
            now == handles[0], "capture_end_post leaves the executable alone", f"the handle {handles[0]} became {now}"
        )
    program.check(impl, graph, "a kept graph that was instantiated between the phases replays")
    graph.instantiate()
    program.check(impl, graph, "a kept graph can be instantiated again after both phases")
