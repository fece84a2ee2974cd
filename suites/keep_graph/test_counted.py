"""When templates and executables come and go, counted at the runtime where the class calls it."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect
from conformance.markers import requirement
from suites.support.captures import BOTH_WAYS, capture_by, replay
from suites.support.counting import Objects, counted
from suites.support.programs import Counter


def _expect_none_by_replays(impl: Adapter, graph: Any, objects: Objects, promise: str) -> None:
    """Reject if one of three more replays makes an executable."""
    before = objects.made
    replay(impl, graph, 3)
    expect(objects.made == before, promise, f"{objects.made - before} were made by 3 replays")


@requirement("keep-graph.false-made-by-capture-end", "keep-graph.counted-capture-end")
@BOTH_WAYS
def test_capture_end(impl: Adapter, way: str) -> None:
    """With keep_graph=False the end of the capture makes the executable and destroys the template."""
    counter, graph = Counter(impl), impl.new_graph(keep_graph=False)
    with counted(impl) as objects:
        capture_by(impl, way, graph, counter.body)
        made, templates = objects.made, len(objects.templates)
        _expect_none_by_replays(impl, graph, objects, "no replay makes an executable of what capture_end instantiated")
    expect(made > 0, "with keep_graph=False capture_end makes the executable", "none was made by then")
    expect(templates == 0, "with keep_graph=False capture_end destroys the template", "it is there afterwards")
    counter.expect_runs(3, "each replay runs the captured work once")


@requirement("signatures.keep-graph-default", "keep-graph.counted-capture-end")
def test_default(impl: Adapter) -> None:
    """Without the argument the end of the capture makes the executable, too."""
    with counted(impl) as objects:
        capture_by(impl, "context", impl.graph_class(), Counter(impl).body)
        made, templates = objects.made, len(objects.templates)
    seen = f"by the end of the capture {made} executables were made, and {templates} templates are there"
    expect(made > 0 and templates == 0, "keep_graph is False when it is left out", seen)


@requirement("keep-graph.argument-forms", "keep-graph.counted-instantiate")
@pytest.mark.parametrize("keep_graph", [False, True], ids=["not-kept", "kept"])
@pytest.mark.parametrize("form", ["positional", "keyword"])
def test_argument(impl: Adapter, form: str, *, keep_graph: bool) -> None:
    """By position or by name, keep_graph decides whether the end of the capture makes the executable."""
    with counted(impl) as objects:
        graph = impl.graph_class(keep_graph) if form == "positional" else impl.graph_class(keep_graph=keep_graph)
        capture_by(impl, "context", graph, Counter(impl).body)
        made = objects.made
    promise = f"the constructor takes keep_graph={keep_graph} ({form})"
    expect((made == 0) == keep_graph, promise, f"by the end of the capture {made} executables were made")


@requirement("keep-graph.true-explicit-instantiate", "keep-graph.counted-instantiate")
@BOTH_WAYS
def test_instantiate(impl: Adapter, way: str) -> None:
    """With keep_graph=True the template stays, and instantiate(), nothing else, makes the executable."""
    counter, graph = Counter(impl), impl.new_graph(keep_graph=True)
    with counted(impl) as objects:
        capture_by(impl, way, graph, counter.body)
        at_the_end, templates = objects.made, len(objects.templates)
        graph.instantiate()
        by_instantiate = objects.made - at_the_end
        promise = "replay instantiates only if instantiate() was not called before"
        _expect_none_by_replays(impl, graph, objects, promise)
    expect(templates == 1, "with keep_graph=True the template stays after capture_end", f"there are {templates}")
    expect(at_the_end == 0, "with keep_graph=True capture_end makes no executable", f"{at_the_end} were made")
    expect(by_instantiate > 0, "instantiate() makes the executable", "none was made")
    counter.expect_runs(3, "each replay runs the captured work once")


@requirement("keep-graph.true-first-replay-instantiates", "keep-graph.counted-first-replay")
@BOTH_WAYS
def test_first_replay(impl: Adapter, way: str) -> None:
    """With keep_graph=True and without instantiate() the first replay makes the executable, and later ones none."""
    counter, graph = Counter(impl), impl.new_graph(keep_graph=True)
    with counted(impl) as objects:
        capture_by(impl, way, graph, counter.body)
        at_the_end = objects.made
        replay(impl, graph)
        by_replay = objects.made - at_the_end
        _expect_none_by_replays(impl, graph, objects, "only the first replay instantiates")
    expect(at_the_end == 0, "with keep_graph=True capture_end makes no executable", f"{at_the_end} were made")
    expect(by_replay > 0, "the first replay makes the executable when nobody did before", "none was made")
    counter.expect_runs(4, "each replay runs the captured work once")
