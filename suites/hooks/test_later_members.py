"""Hooks and callbacks that classes have beyond the documented ones: recorded, never judged."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.markers import requirement
from suites.support.captures import capture_between, replay
from suites.support.hooks import noting
from suites.support.programs import Affine
from suites.support.streams import side_stream

MOMENTS = ("capture_start", "capture_end", "post_instantiate", "replay_start", "replay_end")
FOR_ALL = ("capture_start", "capture_end", "instantiate", "replay_start", "replay_end", "destroy")


@requirement("hooks.later-members")
@pytest.mark.parametrize("keep_graph", [False, True], ids=["not-kept", "kept"])
def test_order_of_all_moments(impl: Adapter, observe: Callable[[str, Any], None], *, keep_graph: bool) -> None:
    """Records which moments have hooks, and the order of all that run in one life."""
    graph = impl.new_graph(keep_graph)
    ran: list[Any] = []
    missing: list[str] = []
    for moment in MOMENTS:
        enroll = getattr(graph, f"register_{moment}_hook", None)
        if enroll is None:
            missing.append(moment)
        else:
            enroll(noting(ran, moment))
    capture_between(impl, graph, Affine(impl).body)
    replay(impl, graph)
    graph.reset()
    observe("absent", missing)
    observe("order", ran)


@requirement("hooks.later-members")
@pytest.mark.parametrize("moment", ["capture_start", "replay_start", "replay_end"])
def test_raising_hook(impl: Adapter, moment: str, observe: Callable[[str, Any], None]) -> None:
    """Records what becomes of an exception in a hook of a moment without document."""
    graph, program = impl.new_graph(), Affine(impl)
    enroll = getattr(graph, f"register_{moment}_hook", None)
    if enroll is None:
        observe("present", False)
        return

    def raising(_graph: Any) -> None:
        raise LookupError("from the hook")

    observe("present", True)
    enroll(raising)
    try:
        with side_stream(impl):
            try:
                impl.capture_begin(graph)
                program.body()
                graph.capture_end()
            finally:
                # On this stream, and before its work is waited for: the hook may have left it capturing.
                if impl.is_current_stream_capturing():
                    impl.abort_capture(graph)
        replay(impl, graph)
    except Exception as error:
        observe("outcome", type(error).__name__)
    else:
        observe("outcome", "swallowed")


@requirement("hooks.later-members")
@pytest.mark.parametrize("ending", ["reset", "deletion"])
def test_destroy_callback(impl: Adapter, ending: str, observe: Callable[[str, Any], None]) -> None:
    """Records when callbacks at the end of a graph run, and when an object that it retains is let go."""
    graph = impl.new_graph()
    ran: list[Any] = []
    enroll, retain = getattr(graph, "register_destroy_callback", None), getattr(graph, "retain_object", None)
    observe("register_destroy_callback", enroll is not None)
    observe("retain_object", retain is not None)
    capture_between(impl, graph, Affine(impl).body)
    if enroll is not None:
        enroll(lambda: ran.append("callback"))
    if retain is not None:
        retain(_Watched(ran))
    impl.synchronize()
    observe("before the end", list(ran))
    if ending == "reset":
        graph.reset()
    else:
        del enroll, retain, graph
        gc.collect(1)
    observe("after the end", list(ran))


class _Watched:
    def __init__(self, log: list[str]) -> None:
        self._log = log

    def __del__(self) -> None:
        self._log.append("retained object")


@requirement("hooks.later-members")
def test_hooks_for_all_graphs(impl: Adapter, observe: Callable[[str, Any], None]) -> None:
    """Records which hooks for all graphs there are, and their order in one life."""
    module = impl.module
    places = [module, getattr(module, "graphs", None)]
    ran: list[str] = []
    missing: list[str] = []
    with contextlib.ExitStack() as registrations:
        for moment in FOR_ALL:
            name = f"register_graph_{moment}_hook"
            enroll = next((getattr(place, name) for place in places if hasattr(place, name)), None)
            if enroll is None:
                missing.append(moment)
                continue
            handle = enroll(noting(ran, moment))
            registrations.callback(handle.remove)
        graph = impl.new_graph()
        capture_between(impl, graph, Affine(impl).body)
        replay(impl, graph)
        graph.reset()
    observe("absent", missing)
    observe("order", ran)
