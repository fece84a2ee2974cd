"""The template's handle: when it can be read, and how long it stays the same."""

from __future__ import annotations

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect, expect_no_raise, expect_raises
from conformance.markers import requirement
from suites.support.captures import capture_into, captured, replay
from suites.support.counting import counted
from suites.support.handles import template_handle
from suites.support.outcomes import refusal
from suites.support.programs import Counter
from suites.support.states import KEEP


@requirement("raw-handles.template-is-int")
def test_template_handle_is_an_int(impl: Adapter) -> None:
    """The handle is an int, so that it can be wrapped for the runtime."""
    graph, _ = captured(impl, Counter(impl).body, keep_graph=True)
    handle = template_handle(impl, graph)
    expect(isinstance(handle, int), "the template's handle is an int", f"{type(handle).__name__}: {handle!r}")


@requirement("raw-handles.template-needs-capture")
@KEEP
def test_template_refused_before_capture(impl: Adapter, *, keep_graph: bool) -> None:
    """A graph that captured nothing has no template; asking does no harm."""
    counter = Counter(impl)
    graph = impl.new_graph(keep_graph)
    expect_raises("the template can be read after capture_end only", lambda: template_handle(impl, graph))
    capture_into(impl, graph, counter.body)
    replay(impl, graph, 3)
    counter.expect_runs(3, "a refused call leaves the graph ready for its first capture")


@requirement("raw-handles.refused-while-capturing")
@KEEP
@pytest.mark.parametrize("which", ["template", "executable"])
def test_handles_refused_while_capturing(impl: Adapter, which: str, *, keep_graph: bool) -> None:
    """Neither handle can be read inside the capture; asking does not spoil it."""
    counter = Counter(impl)
    graph = impl.new_graph(keep_graph)
    read = impl.raw_graph if which == "template" else impl.raw_exec
    outcome: list[tuple[bool, str]] = []

    def body() -> None:
        counter.body()
        outcome.append(refusal(lambda: read(graph)))
        counter.body()

    expect_no_raise("a refused call leaves the capture under way intact", lambda: capture_into(impl, graph, body))
    refused, seen = outcome[0]
    expect(refused, f"the {which}'s handle is refused until the capture has ended", seen)
    replay(impl, graph, 3)
    counter.expect_runs(6, "the capture has the work before and after the refused call")


@requirement("raw-handles.handles-are-distinct")
def test_live_graphs_have_handles_of_their_own(impl: Adapter) -> None:
    """Graphs that are alive together share no template and no executable, and keep theirs as others come."""
    graphs, earlier = [], []
    for _ in range(3):
        graph = captured(impl, Counter(impl).body, keep_graph=True)[0]
        graph.instantiate()
        graphs.append(graph)
        earlier.append((template_handle(impl, graph), impl.raw_exec(graph)))
    templates = [template_handle(impl, graph) for graph in graphs]
    executables = [impl.raw_exec(graph) for graph in graphs]
    now = list(zip(templates, executables, strict=True))
    expect(now == earlier, "a graph keeps its handles while others are captured", f"{earlier} became {now}")
    expect(len(set(templates)) == 3, "each graph has a template of its own", f"handles {templates}")
    expect(len(set(executables)) == 3, "each graph has an executable of its own", f"handles {executables}")


@requirement("raw-handles.exec-is-not-template")
def test_handle_of_another_kind(impl: Adapter) -> None:
    """Executables made in another order than their templates do not have the templates' handles."""
    graphs = [captured(impl, Counter(impl).body, keep_graph=True)[0] for _ in range(3)]
    # Handles that count from one for each kind may be alike now and then, but not for each graph.
    for graph in reversed(graphs):
        graph.instantiate()
    pairs = [(template_handle(impl, graph), impl.raw_exec(graph)) for graph in graphs]
    alike = all(template == executable for template, executable in pairs)
    expect(not alike, "the executable has a handle of its own", f"handles of templates and executables: {pairs}")


@requirement("raw-handles.counted")
@KEEP
def test_handles_of_what_was_made(impl: Adapter, *, keep_graph: bool) -> None:
    """The runtime has made what the handles name, and has not destroyed it."""
    with counted(impl) as objects:
        graph, _ = captured(impl, Counter(impl).body, keep_graph=keep_graph)
        if keep_graph:
            template = template_handle(impl, graph)
            there = sorted(objects.templates)
            expect(template in there, "the handle is that of the captured template", f"{template}; there are {there}")
        for _ in range(3 if keep_graph else 1):
            if keep_graph:
                graph.instantiate()
            replay(impl, graph)
            executable, there = impl.raw_exec(graph), sorted(objects.executables)
            expect(executable in there, "the handle is that of the executable", f"{executable}; there are {there}")
