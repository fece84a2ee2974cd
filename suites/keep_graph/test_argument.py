"""How keep_graph is given to the constructor, and what it is when it is not given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect_no_raise
from conformance.markers import needs, requirement
from suites.support.captures import capture_into, replay
from suites.support.handles import expect_no_handle
from suites.support.programs import Counter

Make = Callable[[Adapter], Any]

FALSE: dict[str, Make] = {
    "left-out": lambda impl: impl.graph_class(),
    "positional": lambda impl: impl.graph_class(False),
    "keyword": lambda impl: impl.graph_class(keep_graph=False),
}
TRUE: dict[str, Make] = {
    "positional": lambda impl: impl.graph_class(True),
    "keyword": lambda impl: impl.graph_class(keep_graph=True),
}


@requirement("keep-graph.default-is-false")
def test_template_is_gone_when_nothing_is_given(impl: Adapter) -> None:
    """A graph made without arguments destroys its template at the end of its capture."""
    graph = FALSE["left-out"](impl)
    capture_into(impl, graph, Counter(impl).body)
    promise = "keep_graph defaults to False, so no template is left after capture_end"
    expect_no_handle(promise, lambda: impl.raw_graph(graph))


@requirement("keep-graph.argument-forms")
@pytest.mark.parametrize("form", TRUE)
def test_true_is_taken(impl: Adapter, form: str) -> None:
    """keep_graph=True, by position or by name, gives a graph that the user may instantiate."""
    counter = Counter(impl)
    graph = expect_no_raise(f"the constructor takes keep_graph=True ({form})", lambda: TRUE[form](impl))
    capture_into(impl, graph, counter.body)
    expect_no_raise("with keep_graph=True the user may call instantiate() after capture_end", graph.instantiate)
    replay(impl, graph, 3)
    counter.expect_runs(3, "each replay of an instantiated graph runs the captured work once")


@requirement("keep-graph.argument-forms")
@pytest.mark.parametrize("form", ["positional", "keyword"])
def test_false_is_taken(impl: Adapter, form: str) -> None:
    """keep_graph=False, by position or by name, gives a graph that replays without further calls."""
    counter = Counter(impl)
    graph = expect_no_raise(f"the constructor takes keep_graph=False ({form})", lambda: FALSE[form](impl))
    capture_into(impl, graph, counter.body)
    replay(impl, graph, 3)
    counter.expect_runs(3, "each replay runs the captured work once")


@requirement("keep-graph.false-template-destroyed")
@needs("keep_graph")
@pytest.mark.parametrize("form", ["positional", "keyword"])
def test_false_leaves_no_template(impl: Adapter, form: str) -> None:
    """keep_graph=False, by position or by name, leaves no template after capture_end."""
    graph = FALSE[form](impl)
    capture_into(impl, graph, Counter(impl).body)
    promise = "with keep_graph=False the template is destroyed at the end of the capture"
    expect_no_handle(promise, lambda: impl.raw_graph(graph))


@requirement("keep-graph.true-template-kept")
@needs("keep_graph")
@pytest.mark.parametrize("form", TRUE)
def test_true_keeps_the_template(impl: Adapter, form: str) -> None:
    """keep_graph=True, by position or by name, keeps the template after capture_end."""
    graph = TRUE[form](impl)
    capture_into(impl, graph, Counter(impl).body)
    expect_no_raise("with keep_graph=True the template is preserved after capture_end", lambda: impl.raw_graph(graph))
