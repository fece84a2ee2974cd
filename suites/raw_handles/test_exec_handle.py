"""The executable's handle: when it can be read, and how long it stays the same."""

from __future__ import annotations

from conformance.adapter import Adapter
from conformance.checks import expect, expect_no_raise, expect_raises
from conformance.markers import requirement
from suites.support.captures import capture_into, captured, replay
from suites.support.handles import exec_handle
from suites.support.programs import Counter
from suites.support.states import KEEP


@requirement("raw-handles.exec-is-int")
@KEEP
def test_exec_handle_is_an_int(impl: Adapter, *, keep_graph: bool) -> None:
    """The handle is an int, so that it can be wrapped for the runtime."""
    graph, _ = captured(impl, Counter(impl).body, keep_graph=keep_graph)
    if keep_graph:
        graph.instantiate()
    handle = exec_handle(impl, graph)
    expect(isinstance(handle, int), "the executable's handle is an int", f"{type(handle).__name__}: {handle!r}")


@requirement("raw-handles.exec-needs-executable")
@KEEP
def test_exec_refused_before_capture(impl: Adapter, *, keep_graph: bool) -> None:
    """A graph that captured nothing has no executable; asking does no harm."""
    counter = Counter(impl)
    graph = impl.new_graph(keep_graph)
    expect_raises("an executable exists after a capture only", lambda: exec_handle(impl, graph))
    capture_into(impl, graph, counter.body)
    replay(impl, graph, 3)
    counter.expect_runs(3, "a refused call leaves the graph ready for its first capture")


@requirement("raw-handles.exec-needs-executable")
def test_exec_refused_before_instantiate(impl: Adapter) -> None:
    """With keep_graph=True the handle is refused until instantiate(); asking does not instantiate."""
    counter = Counter(impl)
    graph, _ = captured(impl, counter.body, keep_graph=True)
    promise = "with keep_graph=True the executable's handle needs a preceding instantiate()"
    for _ in range(2):
        expect_raises(promise, lambda: exec_handle(impl, graph))
    graph.instantiate()
    expect_no_raise("after instantiate() the executable's handle can be read", lambda: exec_handle(impl, graph))
    replay(impl, graph, 3)
    counter.expect_runs(3, "each replay runs the captured work once")


@requirement("raw-handles.exec-is-stable")
@KEEP
def test_exec_handle_is_stable(impl: Adapter, *, keep_graph: bool) -> None:
    """Every call returns the same handle as long as nobody instantiates again."""
    graph, _ = captured(impl, Counter(impl).body, keep_graph=keep_graph)
    if keep_graph:
        graph.instantiate()
    first = exec_handle(impl, graph)
    for _ in range(3):
        replay(impl, graph)
        now = exec_handle(impl, graph)
        expect(now == first, "replays run the one executable that the handle names", f"{first!r} became {now!r}")


@requirement("raw-handles.exec-available-after-every-instantiate")
def test_exec_handle_after_every_instantiate(impl: Adapter) -> None:
    """After each of several instantiate() calls an executable can be read and replayed."""
    counter = Counter(impl)
    graph, _ = captured(impl, counter.body, keep_graph=True)
    for turn in range(1, 6):
        graph.instantiate()
        expect_no_raise("instantiate() leaves a live executable", lambda: exec_handle(impl, graph))
        replay(impl, graph)
        counter.expect_runs(turn, "each replay runs the captured work once")
