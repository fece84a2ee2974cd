"""Whose hooks run: each graph's own, over reset(), and not when a capture fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect
from conformance.markers import requirement
from suites.hooks.programs import EACH_MOMENT
from suites.support.captures import capture_between, replay
from suites.support.disturbances import attempt, device_synchronize
from suites.support.hooks import register
from suites.support.programs import Affine
from suites.support.recovery import expect_capture
from suites.support.states import KEEP


@requirement("hooks.per-graph")
@EACH_MOMENT
@KEEP
def test_hook_of_another_graph(impl: Adapter, moment: str, *, keep_graph: bool) -> None:
    """A graph with no hook runs none; two graphs with hooks run their own."""
    graphs = [impl.new_graph(keep_graph) for _ in range(3)]
    calls: list[tuple[str, Any]] = []
    register(graphs[0], moment, lambda graph: calls.append(("first", graph)))
    register(graphs[1], moment, lambda graph: calls.append(("second", graph)))
    for graph in (graphs[2], graphs[1], graphs[0]):
        capture_between(impl, graph, Affine(impl).body)
        replay(impl, graph)
    for number, name in enumerate(("first", "second")):
        of_graph = [hook for hook, graph in calls if graph is graphs[number]]
        expect(set(of_graph) == {name}, f"the graph with the hook {name!r} runs that one alone", f"{of_graph} ran")
    others = [name for name, graph in calls if not any(graph is one for one in graphs[:2])]
    expect(not others, "a graph without hooks runs none, and a hook is called with its own graph", f"{others} ran")


@requirement("hooks.per-graph")
@EACH_MOMENT
def test_one_function_on_two_graphs(impl: Adapter, moment: str) -> None:
    """One function registered on two graphs is called with each; one handle takes back one registration."""
    graphs = [impl.new_graph() for _ in range(2)]
    arguments: list[Any] = []
    handles = [register(graph, moment, arguments.append) for graph in graphs]
    handles[0].remove()
    for graph in graphs:
        capture_between(impl, graph, Affine(impl).body)
    expect(
        len(arguments) == 1 and arguments[0] is graphs[1],
        "a handle takes back the registration on its own graph only",
        f"{len(arguments)} calls",
    )


@requirement("hooks.per-graph")
@EACH_MOMENT
def test_hook_of_a_dead_graph(impl: Adapter, moment: str) -> None:
    """A new graph does not inherit the hooks of one that is gone."""
    calls: list[str] = []
    for _ in range(5):
        graph = impl.new_graph()
        register(graph, moment, lambda _: calls.append("called"))
        capture_between(impl, graph, Affine(impl).body)
        impl.synchronize()
        del graph
        calls.clear()
        successor = impl.new_graph()
        capture_between(impl, successor, Affine(impl).body)
        expect(not calls, "a graph runs the hooks that were registered on it", "it ran those of a graph that is gone")
        del successor


@requirement("hooks.survive-reset")
@EACH_MOMENT
@KEEP
def test_hook_after_reset(impl: Adapter, moment: str, observe: Callable[[str, Any], None], *, keep_graph: bool) -> None:
    """Records how often a hook ran after each of three captures with reset() between them."""
    graph = impl.new_graph(keep_graph)
    calls: list[Any] = []
    counts: list[int] = []
    register(graph, moment, calls.append)
    for _ in range(3):
        capture_between(impl, graph, Affine(impl).body)
        replay(impl, graph)
        counts.append(len(calls))
        graph.reset()
    observe("calls after each capture", counts)


@requirement("hooks.not-on-failed-capture")
@EACH_MOMENT
@KEEP
def test_failed_capture(impl: Adapter, moment: str, *, keep_graph: bool) -> None:
    """A capture that was spoiled runs no hook; the next capture of the graph runs those registered by then."""
    graph = impl.new_graph(keep_graph)
    calls: list[Any] = []
    register(graph, moment, calls.append)
    outcome = attempt(impl, Affine(impl).body, device_synchronize(impl), graph=graph)
    if outcome.ending is not None:
        expect(not calls, "no hook runs for a capture that failed", f"{len(calls)} calls; {outcome}")
    graph.reset()
    later: list[Any] = []
    register(graph, moment, later.append)  # a new one: whether hooks outlive reset() is another question
    expect_capture(impl, graph, "a graph whose capture failed can be reset and captured again")
    expect(bool(later), "hooks run for the capture that succeeds", "a hook registered before it did not")


@requirement("hooks.not-callable")
@EACH_MOMENT
@pytest.mark.parametrize("thing", [3, None, "hook"], ids=["number", "none", "text"])
def test_not_callable(impl: Adapter, moment: str, thing: Any, observe: Callable[[str, Any], None]) -> None:
    """Records where something that cannot be called is refused, and with what."""
    graph = impl.new_graph()
    try:
        handle = register(graph, moment, thing)
    except Exception as error:
        observe("refused", f"at registration: {type(error).__name__}")
        return
    try:
        capture_between(impl, graph, Affine(impl).body)
    except Exception as error:
        observe("refused", f"when it should run: {type(error).__name__}")
    else:
        observe("refused", "never")
    handle.remove()
