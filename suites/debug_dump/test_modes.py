"""When a graph can be dumped: debug mode, keep_graph, and inside a capture-end hook."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect, expect_no_raise, expect_raises
from conformance.markers import requirement
from suites.support.captures import capture_between, kept_graph, open_capture, replay
from suites.support.dumps import debugged, drawing_in, dump, enable, quiet
from suites.support.handles import exec_handle
from suites.support.outcomes import ACCIDENTS, caught, in_words
from suites.support.programs import Affine, Counter


@requirement("debug-dump.kept-graph")
@pytest.mark.parametrize("state", ["captured", "instantiated", "replayed"])
def test_kept_graph(impl: Adapter, state: str, tmp_path: Path) -> None:
    """keep_graph=True is enough, before and after the instantiation."""
    graph = kept_graph(impl, Affine(impl).body)
    if state == "instantiated":
        graph.instantiate()
    elif state == "replayed":
        replay(impl, graph)
    path = tmp_path / "graph.dot"
    dump(impl, graph, path, "a graph with keep_graph=True can be dumped without debug mode")
    drawing_in(path)


@requirement("debug-dump.in-capture-end-hook", "hooks.capture-end-template-live")
@pytest.mark.parametrize("keep_graph", [False, True], ids=["not-kept", "kept"])
def test_in_a_capture_end_hook(impl: Adapter, tmp_path: Path, *, keep_graph: bool) -> None:
    """The hook dumps the template, whatever keep_graph is; the graph replays."""
    program, graph, path = Affine(impl), impl.new_graph(keep_graph), tmp_path / "graph.dot"
    graph.register_capture_end_hook(lambda graph: impl.debug_dump(graph, str(path)))
    expect_no_raise("in a capture-end hook the graph can be dumped", lambda: capture_between(impl, graph, program.body))
    expect(path.is_file(), "in a capture-end hook the graph can be dumped", "no file was written")
    expect(bool(drawing_in(path).nodes), "the dump shows the captured work", "it has no nodes")
    program.check(impl, graph, "a graph that was dumped in a hook replays")


@requirement("debug-dump.refusal-harmless")
@pytest.mark.parametrize("state", ["new", "capturing", "finished", "reset"])
def test_refused_dump(impl: Adapter, state: str, tmp_path: Path) -> None:
    """Without a live template: an exception, no file, and a graph that is as before."""
    counter, graph, path = Counter(impl), impl.new_graph(), tmp_path / "graph.dot"

    def refused() -> None:
        expect_raises("a dump needs a live template", lambda: impl.debug_dump(graph, str(path)))
        expect(not path.exists(), "a refused dump writes nothing", "the file is there")

    if state == "new":
        refused()
    if state == "capturing":
        with open_capture(impl, graph):
            counter.body()
            refused()
            expect_no_raise("a refused dump leaves the capture intact", graph.capture_end)
    else:
        capture_between(impl, graph, counter.body)
    if state == "finished":
        refused()
    if state == "reset":
        graph.reset()
        refused()
        capture_between(impl, graph, counter.body)
    replay(impl, graph, 3)
    counter.expect_runs(3, "a refused dump changes nothing about what the graph does")


@requirement("debug-dump.enable-keeps-template")
@pytest.mark.parametrize("times", [1, 2], ids=["once", "twice"])
def test_debug_mode_keeps_the_template(impl: Adapter, times: int) -> None:
    """After debug mode was enabled, once or again, the template has a handle that outlives replays."""
    graph = impl.new_graph()
    for _ in range(times):
        expect_no_raise("debug mode can be enabled before a capture", lambda: enable(graph))
    capture_between(impl, graph, Affine(impl).body)
    promise = "debug mode keeps the template as keep_graph=True does"
    first = expect_no_raise(promise, lambda: impl.raw_graph(graph))
    replay(impl, graph, 2)
    later = expect_no_raise(promise, lambda: impl.raw_graph(graph))
    expect(first == later, promise, f"the handle {first} became {later}")


@requirement("debug-dump.enable-keeps-template")
@pytest.mark.parametrize("enabled", ["before-reset", "after-reset"])
def test_debug_mode_of_a_later_capture(impl: Adapter, enabled: str) -> None:
    """Enabled when a graph has had a capture already, debug mode keeps the template of the next one."""
    program, graph = Affine(impl), impl.new_graph()
    capture_between(impl, graph, program.body)
    if enabled == "before-reset":
        graph.enable_debug_mode()
    graph.reset()
    graph.enable_debug_mode()
    capture_between(impl, graph, program.body)
    expect_no_raise("debug mode keeps the template as keep_graph=True does", lambda: impl.raw_graph(graph))
    program.check(impl, graph, "a graph in debug mode replays")


@requirement("debug-dump.enable-during-capture")
def test_enabled_during_a_capture(impl: Adapter, observe: Callable[[str, Any], None]) -> None:
    """Enabled between capture_begin and capture_end, debug mode spoils neither; notes whether it keeps the template."""
    program, graph = Affine(impl), impl.new_graph()
    with open_capture(impl, graph):
        program.first_half()
        error = caught(graph.enable_debug_mode)
        promise = "debug mode during a capture is enabled or refused"
        expect(not isinstance(error, ACCIDENTS), promise, in_words(error))
        expect_no_raise("work after enable_debug_mode is captured", program.second_half)
        expect_no_raise("enable_debug_mode leaves the capture as it is", graph.capture_end)
    observe("template kept", caught(lambda: impl.raw_graph(graph)) is None)
    program.check(impl, graph, "a graph whose debug mode was enabled in the capture replays")


@requirement("debug-dump.enable-leaves-instantiation")
def test_debug_mode_and_instantiate(impl: Adapter) -> None:
    """In debug mode instantiate() may be called, again and again."""
    program = Affine(impl)
    graph = debugged(impl, program.body)
    for _ in range(3):
        expect_no_raise("in debug mode the user may instantiate, as with keep_graph=True", graph.instantiate)
        program.check(impl, graph, "a graph in debug mode replays")


@requirement("debug-dump.enable-leaves-instantiation")
def test_debug_mode_and_first_replay(impl: Adapter) -> None:
    """In debug mode the first replay instantiates."""
    program = Affine(impl)
    program.check(impl, debugged(impl, program.body), "the first replay of a graph in debug mode instantiates it")


@requirement("debug-dump.enable-makes-no-executable")
def test_debug_mode_makes_no_executable(impl: Adapter) -> None:
    """In debug mode capture_end makes no executable, as with keep_graph=True."""
    graph = debugged(impl, Affine(impl).body)
    promise = "in debug mode, as with keep_graph=True, the executable's handle needs an instantiate()"
    expect_raises(promise, lambda: exec_handle(impl, graph))
    graph.instantiate()
    expect_no_raise("after instantiate() the executable's handle can be read", lambda: exec_handle(impl, graph))


@requirement("debug-dump.enable-after-capture")
def test_enabled_on_a_finished_graph(impl: Adapter) -> None:
    """Enabled when the template is gone, debug mode breaks neither replays nor the next instantiate()."""
    program, graph = Affine(impl), impl.new_graph(keep_graph=False)
    capture_between(impl, graph, program.body)
    expect_no_raise("debug mode can be enabled at any time", lambda: enable(graph))
    program.check(impl, graph, "debug mode enabled on a finished graph does not change its replays")
    error = caught(graph.instantiate)
    expect(not isinstance(error, ACCIDENTS), "instantiate() without a template works or is refused", in_words(error))
    program.check(impl, graph, "instantiate(), done or refused, leaves the graph replaying")
    graph.reset()
    capture_between(impl, graph, program.body)
    program.check(impl, graph, "a graph in debug mode captures again after reset()")


@requirement("debug-dump.not-enabled-harmless")
def test_not_enabled(impl: Adapter, tmp_path: Path) -> None:
    """Without debug mode a dump returns or raises; the graph replays."""
    program, graph = Affine(impl), impl.new_graph()
    capture_between(impl, graph, program.body)
    with quiet():
        error = caught(lambda: impl.debug_dump(graph, str(tmp_path / "graph.dot")))
    expect(not isinstance(error, ACCIDENTS), "without debug mode a dump does nothing, or says so", in_words(error))
    program.check(impl, graph, "a dump without debug mode leaves the graph as it is")


@requirement("debug-dump.not-enabled-writes")
def test_not_enabled_writes(impl: Adapter, tmp_path: Path, observe: Callable[[str, Any], None]) -> None:
    """Records whether a graph writes that was not itself put into debug mode."""
    path, graph = tmp_path / "graph.dot", impl.new_graph()
    capture_between(impl, graph, Affine(impl).body)
    with quiet():
        error = caught(lambda: impl.debug_dump(graph, str(path)))
    observe("file written", path.exists())
    observe("refused", error is not None)
    other = debugged(impl, Affine(impl).body)
    with quiet():
        caught(lambda: impl.debug_dump(graph, str(path)))
    observe("file written once another graph is in debug mode", path.exists())
    other.reset()
