"""Capture-end hooks: when they run and what they see."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_no_raise
from conformance.markers import requirement
from suites.hooks.programs import NUMBERS, expect_all_called, register_returning
from suites.support.captures import BOTH_WAYS, capture_between, capture_by, capture_into, replay
from suites.support.editor import Editor
from suites.support.handles import expect_no_handle, launch
from suites.support.hooks import noting
from suites.support.programs import Counter
from suites.support.states import KEEP
from suites.support.template import Template


@requirement("hooks.capture-end-argument")
@KEEP
@BOTH_WAYS
def test_called_with_the_graph(impl: Adapter, way: str, *, keep_graph: bool) -> None:
    """The hook gets the very graph, from the two calls as from the context manager."""
    graph = impl.new_graph(keep_graph)
    arguments: list[Any] = []
    graph.register_capture_end_hook(arguments.append)
    capture_by(impl, way, graph, Counter(impl).body)
    expect(bool(arguments), "the end of a capture runs the hook", "it did not run")
    fine = all(one is graph for one in arguments)
    expect(fine, "a capture-end hook is called with its graph", f"called with {arguments!r}")


@requirement("hooks.capture-end-once")
@KEEP
def test_runs_once_for_each_capture(impl: Adapter, *, keep_graph: bool) -> None:
    """Only the end of the capture runs the hook; begin, instantiate and replay do not."""
    counter = Counter(impl)
    calls: list[Any] = []
    graph = impl.new_graph(keep_graph)
    graph.register_capture_end_hook(calls.append)
    promise = "a capture-end hook runs when a capture ends, and at no other time"
    expect(not calls, promise, "registration ran it")
    inside: list[int] = []

    def body() -> None:
        counter.body()
        inside.append(len(calls))

    capture_between(impl, graph, body)
    expect(inside == [0], promise, f"{inside[0]} calls before the end of the capture")
    expect(len(calls) == 1, promise, f"{len(calls)} calls at the end of the capture")
    if keep_graph:
        graph.instantiate()
    replay(impl, graph, 3)
    expect(len(calls) == 1, promise, f"{len(calls) - 1} calls after the end of the capture")
    counter.expect_runs(3, "each replay of a graph with a hook runs the captured work once")


@requirement("hooks.capture-end-once")
@KEEP
def test_registered_inside_the_capture(impl: Adapter, *, keep_graph: bool) -> None:
    """A hook that is registered while the capture is underway runs when it ends, as one from before does."""
    counter, graph = Counter(impl), impl.new_graph(keep_graph)
    calls: list[Any] = []

    def body() -> None:
        counter.body()
        promise = "a hook can be registered while the capture is underway"
        expect_no_raise(promise, lambda: graph.register_capture_end_hook(calls.append))

    capture_between(impl, graph, body)
    promise = "a hook that was registered before the capture ends runs once when it ends"
    expect(len(calls) == 1 and calls[0] is graph, promise, f"called with {calls}")
    replay(impl, graph, 2)
    counter.expect_runs(2, "each replay of a graph with a hook runs the captured work once")


@requirement("hooks.capture-end-order")
@KEEP
def test_order_of_registration(impl: Adapter, *, keep_graph: bool) -> None:
    """Hooks run in the order in which they were registered."""
    graph = impl.new_graph(keep_graph)
    ran: list[Any] = []
    for number in NUMBERS:
        graph.register_capture_end_hook(noting(ran, number))
    capture_between(impl, graph, Counter(impl).body)
    expect(ran == [*NUMBERS], "capture-end hooks run in the order of registration", f"{ran}")


@requirement("hooks.capture-end-argument")
@KEEP
def test_what_hooks_return(impl: Adapter, *, keep_graph: bool) -> None:
    """Whatever one hook returns, those after it are called, and with the graph."""
    graph = impl.new_graph(keep_graph)
    arguments = register_returning(graph, "capture-end")
    capture_between(impl, graph, Counter(impl).body)
    expect_all_called(graph, arguments)


@requirement("hooks.capture-end-template-live")
@KEEP
@BOTH_WAYS
def test_template_can_be_read(impl: Adapter, way: str, *, keep_graph: bool) -> None:
    """Inside the hook the template has a handle, in both modes."""
    graph = impl.new_graph(keep_graph)
    handles: list[Any] = []
    graph.register_capture_end_hook(lambda graph: handles.append(impl.raw_graph(graph)))
    expect_no_raise(
        "in a capture-end hook the template's handle can be read",
        lambda: capture_by(impl, way, graph, Counter(impl).body),
    )
    expect(len(handles) == 1, "the end of a capture runs the hook", f"{len(handles)} calls")


@requirement("hooks.capture-end-template-has-work")
@KEEP
def test_template_holds_the_work(impl: Adapter, *, keep_graph: bool) -> None:
    """What the runtime makes of the template behind the handle that the hook reads does the captured work."""
    x = impl.full(37, 1.0)
    graph = impl.new_graph(keep_graph)
    executables: list[int] = []

    def body() -> None:
        x.add_(1)
        x.mul_(2)
        x.sub_(3)

    with contextlib.ExitStack() as until_launched:

        def instantiate(graph: Any) -> None:
            executables.append(until_launched.enter_context(Editor(impl, graph).executable()))

        graph.register_capture_end_hook(instantiate)
        capture_between(impl, graph, body)
        expect(len(executables) == 1, "the end of a capture runs the hook", f"{len(executables)} calls")
        for value in (5.0, -2.0, 11.0):
            x.fill_(value)
            launch(impl, executables[0])
            promise = "the template that a capture-end hook sees holds the captured work"
            expect_equal(impl, x, (value + 1) * 2 - 3, promise)


@requirement("hooks.capture-end-template-not-kept")
def test_template_goes_after_the_hooks(impl: Adapter) -> None:
    """With keep_graph=False a hook does not keep the template from being destroyed."""
    graph = impl.new_graph(keep_graph=False)
    handles: list[Any] = []
    graph.register_capture_end_hook(lambda graph: handles.append(impl.raw_graph(graph)))
    counter = Counter(impl)
    capture_between(impl, graph, counter.body)
    expect(len(handles) == 1, "the end of a capture runs the hook", f"{len(handles)} calls")
    expect_no_handle("with keep_graph=False the template is gone after capture_end", lambda: impl.raw_graph(graph))
    replay(impl, graph, 3)
    counter.expect_runs(3, "each replay runs the captured work once")


@requirement("hooks.capture-end-template-not-kept")
def test_kept_template_is_the_one_seen(impl: Adapter) -> None:
    """With keep_graph=True the handle read in the hook is the one that stays."""
    graph = impl.new_graph(keep_graph=True)
    handles: list[Any] = []
    graph.register_capture_end_hook(lambda graph: handles.append(impl.raw_graph(graph)))
    capture_between(impl, graph, Counter(impl).body)
    after = impl.raw_graph(graph)
    expect(handles == [after], "the template that a hook saw is the one that is kept", f"{handles}, then {after}")


@requirement("hooks.capture-end-after-capture")
@KEEP
@BOTH_WAYS
def test_capture_is_over(impl: Adapter, way: str, *, keep_graph: bool) -> None:
    """Inside the hook the current stream captures nothing."""
    graph = impl.new_graph(keep_graph)
    capturing: list[Any] = []
    graph.register_capture_end_hook(lambda _: capturing.append(impl.is_current_stream_capturing()))
    capture_by(impl, way, graph, Counter(impl).body)
    expect(capturing == [False], "capture-end hooks run after the capture is complete", f"capturing: {capturing}")


@requirement("hooks.capture-end-work-runs")
@KEEP
def test_work_of_the_hook(impl: Adapter, *, keep_graph: bool) -> None:
    """An addition in the hook is done once, at the end of the capture, and by no replay."""
    counter, extra = Counter(impl), Counter(impl, step=10.0)
    graph = impl.new_graph(keep_graph)
    graph.register_capture_end_hook(lambda _: extra.body())
    capture_between(impl, graph, counter.body)
    extra.expect_runs(1, "work that a capture-end hook gives to the device runs at once")
    replay(impl, graph, 3)
    extra.expect_runs(1, "work that a capture-end hook gives to the device is no part of the graph")
    counter.expect_runs(3, "each replay runs the captured work once")


@requirement("hooks.capture-end-edits-count")
@KEEP
def test_edit_in_the_hook(impl: Adapter, *, keep_graph: bool) -> None:
    """A node that the hook adds behind the captured work runs in every replay."""
    x, flag = impl.full(37, 1.0), impl.full((3, 5), -7.0)

    def edit(graph: Any) -> None:
        template = Template(impl, graph)
        template.add_memset(flag, 3.0, after=template.leaves())

    graph = impl.new_graph(keep_graph)
    graph.register_capture_end_hook(edit)
    capture_between(impl, graph, lambda: x.add_(1))
    for turn in range(1, 4):
        flag.fill_(-7.0)
        replay(impl, graph)
        expect_equal(impl, flag, 3.0, "the executable is made after the capture-end hooks, from what they leave")
        expect_equal(impl, x, turn + 1.0, "an edit leaves the captured work in place")


@requirement("hooks.capture-end-before-post-instantiate")
@pytest.mark.parametrize("first", ["capture-end-first", "post-instantiate-first"])
def test_order_of_the_moments(impl: Adapter, first: str) -> None:
    """capture_end runs the capture-end hooks first, in whatever order the two were registered."""
    graph = impl.new_graph(keep_graph=False)
    ran: list[Any] = []
    registrations = [
        lambda: graph.register_capture_end_hook(lambda _: ran.append("capture-end")),
        lambda: graph.register_post_instantiate_hook(lambda _: ran.append("post-instantiate")),
    ]
    for call in registrations if first == "capture-end-first" else reversed(registrations):
        call()
    capture_into(impl, graph, Counter(impl).body)
    expect(
        ran == ["capture-end", "post-instantiate"],
        "capture-end hooks run before the graph is finalized, post-instantiate hooks after the instantiation",
        f"{ran}",
    )
