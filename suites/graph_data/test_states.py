"""When graph data can be asked for, and that asking changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect, expect_no_raise, expect_raises
from conformance.markers import requirement
from suites.support.bindings import names_bindings, without_bindings
from suites.support.captures import capture_between, captured, open_capture, replay
from suites.support.data import data_of
from suites.support.handles import exec_handle
from suites.support.outcomes import caught, in_words
from suites.support.programs import Counter, row_of_operators

REFUSED = "graph data need a kept and instantiated graph"


@requirement("graph-data.refused-otherwise")
@pytest.mark.parametrize("state", ["new", "capturing", "reset"])
def test_refused(impl: Adapter, state: str) -> None:
    """Without template and executable there is nothing to describe; the graph goes on afterwards."""
    counter, graph = Counter(impl), impl.new_graph(keep_graph=True)
    if state == "reset":
        capture_between(impl, graph, counter.body)
        graph.instantiate()
        graph.reset()
    if state == "capturing":
        with open_capture(impl, graph):
            counter.body()
            expect_raises(REFUSED, graph.get_graph_data)
            expect_no_raise("a refused get_graph_data leaves the capture intact", graph.capture_end)
    else:
        expect_raises(REFUSED, graph.get_graph_data)
        capture_between(impl, graph, counter.body)
    replay(impl, graph, 3)
    counter.expect_runs(3, "a refused get_graph_data changes nothing about what the graph does")


@requirement("graph-data.refusal-harmless")
def test_refusal_instantiates_nothing(impl: Adapter) -> None:
    """Refused for lack of an executable, the call makes none."""
    counter = Counter(impl)
    graph, _ = captured(impl, counter.body, keep_graph=True)
    expect_raises(REFUSED, graph.get_graph_data)
    expect_raises("a refused get_graph_data makes no executable", lambda: exec_handle(impl, graph))
    graph.instantiate()
    data_of(graph)
    replay(impl, graph, 3)
    counter.expect_runs(3, "a refused get_graph_data changes nothing about what the graph does")


@requirement("graph-data.refusal-harmless")
def test_refusal_keeps_nothing(impl: Adapter) -> None:
    """Refused for lack of a template, the call brings none back."""
    counter = Counter(impl)
    graph, _ = captured(impl, counter.body, keep_graph=False)
    expect_raises(REFUSED, graph.get_graph_data)
    expect_raises("without keep_graph there is no template", lambda: impl.raw_graph(graph))
    replay(impl, graph, 3)
    counter.expect_runs(3, "a refused get_graph_data changes nothing about what the graph does")


@requirement("graph-data.lazy-executable")
def test_executable_of_a_replay(impl: Adapter, observe: Callable[[str, Any], None]) -> None:
    """Records whether the data are there after the replay that instantiated."""
    graph, _ = captured(impl, row_of_operators(impl), keep_graph=True)
    replay(impl, graph)
    try:
        observe("nodes of four operators", len(graph.get_graph_data()["nodes"]))
    except Exception as error:
        observe("refused", type(error).__name__)


@requirement("graph-data.changes-nothing")
def test_between_replays(impl: Adapter) -> None:
    """Asked before and between replays, one of them still under way, the call disturbs nothing."""
    counter = Counter(impl)
    graph, _ = captured(impl, counter.body, keep_graph=True)
    graph.instantiate()
    executable, first = exec_handle(impl, graph), data_of(graph)["exec_graph_id"]
    for turn in range(1, 13):
        now = data_of(graph)["exec_graph_id"]
        expect(now == first, "an executable has one id as long as it lives", f"{first} became {now} in replay {turn}")
        counter.expect_runs(turn - 1, "get_graph_data runs nothing")
        graph.replay()
        data_of(graph)
        counter.expect_runs(turn, "get_graph_data changes nothing about what replays do")
    now = exec_handle(impl, graph)
    expect(now == executable, "get_graph_data leaves the executable alone", f"the handle {executable} became {now}")


@requirement("graph-data.without-bindings")
def test_without_the_bindings(impl: Adapter) -> None:
    """Where cuda.bindings cannot be imported the data are there all the same, or the error names the package."""
    graph, _ = captured(impl, row_of_operators(impl), keep_graph=True)
    graph.instantiate()
    with without_bindings():
        error = caught(graph.get_graph_data)
    expect(error is None or names_bindings(error), "a missing cuda.bindings is named", in_words(error))
