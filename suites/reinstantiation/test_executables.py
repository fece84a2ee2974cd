"""Each instantiate() gives a fresh executable: how often, from where, and what becomes of work under way."""

from __future__ import annotations

import contextlib

import pytest

from conformance.adapter import Adapter, in_thread
from conformance.checks import NotConforming, expect, expect_equal, expect_no_raise, expect_raises
from conformance.markers import requirement
from suites.reinstantiation.programs import FEW_EDITS, SIZE, UNEDITED, Edit, Scene
from suites.support.captures import captured, replay
from suites.support.counting import counted
from suites.support.handles import launch
from suites.support.programs import Counter
from suites.support.streams import side_stream
from suites.support.template import Template
from suites.support.user_objects import Kept


@requirement("reinstantiation.same-work-when-unedited")
def test_unedited_graph_keeps_its_work(impl: Adapter) -> None:
    """instantiate() without edits changes no result and no address of the replays."""
    x = impl.full((3, 5), 0.0)
    graph, out = captured(impl, lambda: x * 2 - 3, keep_graph=True)
    address = out.data_ptr()
    for turn in range(5):
        graph.instantiate()
        x.fill_(float(turn))
        out.fill_(99.0)
        replay(impl, graph)
        expect_equal(impl, out, turn * 2.0 - 3, "an executable made again does the same work on the same memory")
        expect(out.data_ptr() == address, "a captured output stays where it is", "instantiate() moved it")


@requirement("reinstantiation.same-work-when-unedited")
@pytest.mark.parametrize("instantiations", [1, 5])
def test_replay_runs_once_however_often_instantiated(impl: Adapter, instantiations: int) -> None:
    """A replay runs the newest executable, once, not one for every instantiate()."""
    counter = Counter(impl)
    graph, _ = captured(impl, counter.body, keep_graph=True)
    for _ in range(instantiations):
        graph.instantiate()
    replay(impl, graph, 3)
    counter.expect_runs(3, "a replay runs the newest executable once")


@requirement("reinstantiation.fresh-executable")
@pytest.mark.parametrize("edit", FEW_EDITS, ids=lambda edit: edit.name)
def test_handle_read_after_instantiate_has_the_edit(impl: Adapter, edit: Edit) -> None:
    """The executable's handle, read after instantiate(), names the fresh executable."""
    scene = Scene(impl)
    scene.graph.instantiate()
    impl.raw_exec(scene.graph)  # read before, so that a remembered handle would be the wrong one
    edit.apply(scene)
    scene.graph.instantiate()
    fresh = impl.raw_exec(scene.graph)
    for _ in range(2):
        promise = "the handle read after instantiate() names the fresh executable"
        scene.check(edit, promise, lambda: launch(impl, fresh))


@requirement("reinstantiation.old-executable-destroyed")
@pytest.mark.parametrize("replays", [0, 2], ids=["never-launched", "launched"])
def test_old_executable_is_destroyed(impl: Adapter, replays: int) -> None:
    """What only the old executable keeps alive goes with it, at once for each instantiate()."""
    graph, _ = captured(impl, Counter(impl).body, keep_graph=True)
    for turn in range(3):
        witness = Kept(impl, impl.raw_graph(graph))
        graph.instantiate()
        impl.raw_exec(graph)
        replay(impl, graph, replays)
        witness.release(impl.raw_graph(graph))
        witness.expect_alive(f"the executable that instantiate() number {2 * turn + 1} made stays until the next")
        graph.instantiate()
        witness.expect_destroyed("instantiate() destroys the executable whose handle was read before")


@requirement("reinstantiation.counted-replacement")
@pytest.mark.parametrize("replays", [0, 2], ids=["never-launched", "launched"])
def test_each_instantiate_replaces_the_executable(impl: Adapter, replays: int) -> None:
    """Counted at the runtime, each instantiate() makes an executable, and what was there before is destroyed."""
    counter = Counter(impl)
    with counted(impl) as objects:
        graph, _ = captured(impl, counter.body, keep_graph=True)
        for turn in range(1, 4):
            made = objects.made
            graph.instantiate()
            expect(objects.made > made, f"instantiate() number {turn} makes an executable", "none was made")
            promise = "instantiate() destroys the executable from before"
            expect(len(objects.executables) == 1, promise, f"there are {len(objects.executables)}")
            replay(impl, graph, replays)
    counter.expect_runs(3 * replays, "each replay runs the captured work once")


@requirement("reinstantiation.many-times")
def test_many_instantiations(impl: Adapter) -> None:
    """Forty rounds of edit, instantiate and replay each show the edit of their round."""
    counter = Counter(impl)
    flag = impl.full(SIZE, -1.0)
    graph, _ = captured(impl, counter.body, keep_graph=True)
    template = Template(impl, graph)
    node = template.add_memset(flag, 0.0)
    for turn in range(40):
        template.remove(node)
        node = template.add_memset(flag, turn + 0.5, after=template.leaves())
        graph.instantiate()
        replay(impl, graph)
        expect_equal(impl, flag, turn + 0.5, f"instantiate() number {turn + 1} has the edit of its round")
    counter.expect_runs(40, "each replay runs the captured work once")


@requirement("reinstantiation.on-any-stream")
def test_instantiate_on_another_stream(impl: Adapter) -> None:
    """The stream that is current at instantiate() does not matter; replays go where they are called."""
    counter = Counter(impl)
    graph, _ = captured(impl, counter.body, keep_graph=True)
    with side_stream(impl):
        expect_no_raise("instantiate() works whatever stream is current", graph.instantiate)
    replay(impl, graph, 2)
    counter.expect_runs(2, "an executable made while another stream was current replays on this one")
    with side_stream(impl):
        graph.replay()
        graph.instantiate()
        graph.replay()
    counter.expect_runs(4, "the graph replays on a side stream as well")


@requirement("reinstantiation.in-any-thread")
def test_instantiate_in_another_thread(impl: Adapter) -> None:
    """instantiate() called in another thread makes the executable that this thread replays."""
    counter = Counter(impl)
    graph, _ = captured(impl, counter.body, keep_graph=True)
    for runs in (2, 4, 6):
        expect_no_raise("instantiate() may be called in another thread", lambda: in_thread(graph.instantiate))
        replay(impl, graph, 2)
        counter.expect_runs(runs, "an executable made in another thread replays in this one")


@requirement("reinstantiation.in-any-thread")
def test_first_replay_in_another_thread(impl: Adapter) -> None:
    """The replay that instantiates may be called in another thread."""
    counter = Counter(impl)
    graph, _ = captured(impl, counter.body, keep_graph=True)
    impl.synchronize()
    expect_no_raise("the first replay may be called in another thread", lambda: in_thread(lambda: replay(impl, graph)))
    counter.expect_runs(1, "the first replay instantiates and runs the captured work once")
    replay(impl, graph, 2)
    counter.expect_runs(3, "later replays may be called in the capturing thread")


@requirement("reinstantiation.replays-under-way-finish")
def test_replays_under_way_are_finished(impl: Adapter) -> None:
    """instantiate() straight after replay(), without waiting, loses none of the work under way."""
    counter = Counter(impl)

    def body() -> None:
        for _ in range(30):
            counter.body()

    graph, _ = captured(impl, body, keep_graph=True)
    for _ in range(4):
        graph.replay()
        graph.instantiate()
    graph.replay()
    counter.expect_runs(150, "replays that were launched are finished though their executable was replaced")


@requirement("reinstantiation.failure-is-recoverable")
def test_failed_instantiate_can_be_repeated(impl: Adapter) -> None:
    """A template that cannot be instantiated is refused; once repaired, it instantiates and replays again."""
    scene = Scene(impl)
    scene.graph.instantiate()
    template = scene.template()
    captured_node = template.leaves()[0]
    node = template.add_memset(scene.flag, 3.0, after=[captured_node])
    # A runtime may refuse the edge that closes a circle; then there is nothing to repair.
    circular = False
    with contextlib.suppress(NotConforming):
        template.link(node, captured_node)
        circular = True
    if circular:
        expect_raises("a template that cannot be instantiated is refused", scene.graph.instantiate)
        template.unlink(node, captured_node)
    template.remove(node)
    expect_no_raise("a repaired template can be instantiated", scene.graph.instantiate)
    for _ in range(3):
        scene.check(UNEDITED, "a repaired template replays its work")


@requirement("reinstantiation.failure-keeps-executable")
def test_failed_instantiate_keeps_the_executable(impl: Adapter) -> None:
    """While the template cannot be instantiated, replays run what was instantiated before."""
    scene = Scene(impl)
    scene.graph.instantiate()
    template = scene.template()
    captured_node = template.leaves()[0]
    node = template.add_memset(scene.flag, 3.0, after=[captured_node])
    try:
        template.link(node, captured_node)
    except NotConforming:
        # The runtime refused the edge that closes a circle: there is no template that cannot be instantiated.
        return
    expect_raises("a template that cannot be instantiated is refused", scene.graph.instantiate)
    promise = "after an instantiate() that failed, replay runs the executable from before"
    for _ in range(3):
        scene.check(UNEDITED, promise, lambda: expect_no_raise(promise, scene.graph.replay))
