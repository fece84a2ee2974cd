"""Several edits in a row, taken back, changed and repeated."""

from __future__ import annotations

import warnings

import pytest
import torch

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal
from conformance.markers import requirement
from suites.reinstantiation.programs import SIZE, UNEDITED, Scene
from suites.support.captures import capture_into, captured, replay
from suites.support.programs import Counter
from suites.support.template import Template

# One dtype for each element size that a memset node can have.
DTYPES = {torch.int32: -9, torch.bfloat16: -1.5, torch.uint8: 201}


@requirement("reinstantiation.edit-shown-after-instantiate")
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: str(dtype).removeprefix("torch."))
def test_memset_on_the_graphs_own_output(impl: Adapter, dtype: torch.dtype) -> None:
    """A memset added behind the captured work overwrites an output that lives in the graph's pool."""
    x = impl.full((3, 5), 4, dtype)
    graph, out = captured(impl, lambda: x + 1, keep_graph=True)
    replay(impl, graph)
    expect_equal(impl, out, 5, "a replay runs the captured work")
    template = Template(impl, graph)
    template.add_memset(out, DTYPES[dtype], after=template.leaves())
    graph.instantiate()
    for _ in range(3):
        out.fill_(99)
        replay(impl, graph)
        expect_equal(impl, out, DTYPES[dtype], "instantiate() makes an executable that has the added node")


@requirement("reinstantiation.edit-shown-after-instantiate")
def test_dependency_is_turned_round(impl: Adapter) -> None:
    """The same nodes with their dependency reversed run in the other order after instantiate()."""
    scene = Scene(impl)
    template = scene.template()
    roots, leaves = template.roots(), template.leaves()
    node = template.add_memset(scene.x, 20.0)
    for root in roots:
        template.link(node, root)
    scene.graph.instantiate()
    for _ in range(3):
        scene.x.fill_(1.0)
        replay(impl, scene.graph)
        expect_equal(impl, scene.x, 21.0, "the edge puts the memset before the captured addition")
    for root in roots:
        template.unlink(node, root)
    for leaf in leaves:
        template.link(leaf, node)
    replay(impl, scene.graph)
    expect_equal(impl, scene.x, 21.0, "changed edges do not reach the executable made before the change")
    scene.graph.instantiate()
    for _ in range(3):
        scene.x.fill_(1.0)
        replay(impl, scene.graph)
        expect_equal(impl, scene.x, 20.0, "after instantiate() the edge puts the memset behind the captured addition")


@requirement("reinstantiation.edit-shown-after-instantiate")
def test_added_node_is_removed_again(impl: Adapter) -> None:
    """Removing an added node gives back the captured work after instantiate()."""
    scene = Scene(impl)
    template = scene.template()
    node = template.add_memset(scene.flag, 3.0)
    scene.graph.instantiate()
    replay(impl, scene.graph)
    expect_equal(impl, scene.flag, 3.0, "instantiate() makes an executable that has the added node")
    template.remove(node)
    scene.flag.fill_(0.0)
    replay(impl, scene.graph)
    expect_equal(impl, scene.flag, 3.0, "a removal does not reach the executable made before it")
    scene.graph.instantiate()
    for _ in range(3):
        scene.check(UNEDITED, "after instantiate() the removed node is gone")


@requirement("reinstantiation.edit-shown-after-instantiate")
def test_node_parameters_are_changed(impl: Adapter) -> None:
    """New parameters of a template's node show after instantiate(), not before."""
    scene = Scene(impl)
    template = scene.template()
    node = template.add_memset(scene.flag, 3.0)
    scene.graph.instantiate()
    template.change_memset(node, scene.flag, 4.0)
    for _ in range(2):
        scene.flag.fill_(0.0)
        replay(impl, scene.graph)
        expect_equal(impl, scene.flag, 3.0, "new parameters do not reach the executable made before the change")
    scene.graph.instantiate()
    for _ in range(2):
        scene.flag.fill_(0.0)
        replay(impl, scene.graph)
        expect_equal(impl, scene.flag, 4.0, "after instantiate() the node has its new parameters")


@requirement("reinstantiation.edit-shown-after-instantiate")
def test_edits_add_up(impl: Adapter) -> None:
    """Edits made over several instantiate() calls add up: none is lost, none is applied twice."""
    counter = Counter(impl)
    graph, _ = captured(impl, counter.body, keep_graph=True)
    flags = [impl.full(SIZE, 0.0) for _ in range(4)]
    for count, flag in enumerate(flags, start=1):
        Template(impl, graph).add_memset(flag, float(count))
        graph.instantiate()
        for earlier in flags:
            earlier.fill_(0.0)
        replay(impl, graph)
        for position, target in enumerate(flags, start=1):
            expected = float(position) if position <= count else 0.0
            expect_equal(impl, target, expected, f"after {count} edits a replay has exactly these")
    counter.expect_runs(4, "added nodes leave the captured work in place")


@requirement("reinstantiation.edit-before-first-executable-included")
def test_empty_capture_filled_by_edits(impl: Adapter) -> None:
    """A template that captured nothing runs the nodes that were added to it."""
    flag = impl.full(SIZE, 0.0)
    graph = impl.new_graph(True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an empty capture may warn
        capture_into(impl, graph, lambda: None)
    Template(impl, graph).add_memset(flag, 6.5)
    for _ in range(3):
        flag.fill_(0.0)
        replay(impl, graph)
        expect_equal(impl, flag, 6.5, "the first replay instantiates the template as it then is")


@requirement("reinstantiation.template-survives")
def test_template_stays_editable(impl: Adapter) -> None:
    """One handle, read once, serves for edits before and after every instantiate() and replay."""
    scene = Scene(impl)
    template = scene.template()
    node = template.add_memset(scene.flag, 0.0)
    captured_nodes = len(template.nodes()) - 1
    for turn in range(1, 6):
        template.change_memset(node, scene.flag, float(turn))
        scene.graph.instantiate()
        replay(impl, scene.graph, 2)
        expect_equal(impl, scene.flag, float(turn), "the template behind the handle survives instantiate() and replay")
        nodes = len(template.nodes())
        expect(
            nodes == captured_nodes + 1,
            "instantiate() and replay leave the template's nodes alone",
            f"{nodes} nodes where {captured_nodes + 1} were before",
        )


@requirement("reinstantiation.edits-end-with-reset")
def test_reset_drops_edits(impl: Adapter) -> None:
    """A capture after reset() starts from an unedited template."""
    scene = Scene(impl)
    scene.template().add_memset(scene.flag, 3.0)
    replay(impl, scene.graph)
    scene.graph.reset()
    capture_into(impl, scene.graph, lambda: scene.x.add_(1))
    for _ in range(3):
        scene.check(UNEDITED, "edits belong to the template that reset() deleted")


@requirement("reinstantiation.edits-stay-in-their-graph")
def test_edit_of_one_graph_leaves_another_alone(impl: Adapter) -> None:
    """An edit and an instantiate() of one graph change nothing in another graph of the same program."""
    scene, other = Scene(impl), Scene(impl)
    other.graph.instantiate()
    scene.template().remove_all()
    scene.template().add_memset(other.flag, 3.0)
    scene.graph.instantiate()
    replay(impl, scene.graph)
    for _ in range(2):
        other.check(UNEDITED, "an edit belongs to the one template that was edited")
    other.graph.instantiate()
    for _ in range(2):
        other.check(UNEDITED, "an edit belongs to the one template that was edited")
