"""Graph data compared with the template, after edits, and of several executables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect, expect_no_raise
from conformance.markers import needs, requirement
from suites.graph_data.programs import MANY, documented, edited, instantiated
from suites.support.captures import capture_between, replay
from suites.support.data import arrows_in, data_of
from suites.support.dumps import debugged
from suites.support.programs import fork, row_of_operators, uneven_fork
from suites.support.shape import arrows_of, counterparts
from suites.support.template import Template


def _expect_template(impl: Adapter, graph: Any, promise: str) -> None:
    """Reject unless the data have the template's nodes, and each stands where one of the template's stands."""
    template, data = Template(impl, graph), data_of(graph)
    expected, edges = arrows_of(template), arrows_in(data)
    expect(len(edges) == len(expected), promise, f"{len(edges)} nodes where the template has {len(expected)}")
    expect(counterparts(edges, expected) is not None, promise, f"dependents {edges} where the template has {expected}")


def _of(program: Callable[[Adapter], Callable[[], None]]) -> Callable[[Adapter], Any]:
    return lambda impl: instantiated(impl, program(impl))


@requirement("graph-data.matches-template", "graph-data.index-is-position")
@pytest.mark.parametrize(
    "make",
    [
        pytest.param(_of(row_of_operators), id="row"),
        pytest.param(_of(lambda impl: row_of_operators(impl, MANY)), id="long-row"),
        pytest.param(_of(fork), id="fork", marks=needs("fork_join")),
        pytest.param(_of(uneven_fork), id="uneven-fork", marks=needs("fork_join")),
        pytest.param(lambda impl: edited(impl)[0], id="edited"),
    ],
)
def test_as_the_template(impl: Adapter, make: Callable[[Adapter], Any]) -> None:
    """The runtime finds the same nodes and edges behind the template's handle, of each graph that is alive."""
    one, other = instantiated(impl, row_of_operators(impl, 2)), make(impl)
    for graph in (one, other, instantiated(impl, row_of_operators(impl, 3))):
        _expect_template(impl, graph, "graph data have the nodes and edges of the template")


@requirement("graph-data.after-edit", "graph-data.index-is-position")
@pytest.mark.parametrize("edit", ["add", "remove", "relink"])
def test_after_an_edit(impl: Adapter, edit: str) -> None:
    """An added node, a removed one and a changed edge show after instantiate()."""
    graph, flag = instantiated(impl, row_of_operators(impl)), impl.full(37, 0.0)
    template = Template(impl, graph)
    memset = template.add_memset(flag, 3.0, after=template.leaves())
    graph.instantiate()
    promise = "after an edit and instantiate() graph data describe the edited graph"
    _expect_template(impl, graph, promise)
    if edit == "remove":
        template.remove(memset)
    elif edit == "relink":
        last = next(earlier for earlier, later in template.edges() if later == int(memset))
        node = next(node for node in template.nodes() if int(node) == last)
        template.unlink(node, memset)
    else:
        template.add_memset(flag, 4.0, after=[memset])
    graph.instantiate()
    _expect_template(impl, graph, promise)


@requirement("graph-data.edit-not-instantiated", "graph-data.lazy-executable")
def test_edit_without_instantiate(impl: Adapter, observe: Callable[[str, Any], None]) -> None:
    """Records whether an edit shows before the next instantiate()."""
    graph, flag = instantiated(impl, row_of_operators(impl)), impl.full(37, 0.0)
    before = len(data_of(graph)["nodes"])
    Template(impl, graph).add_memset(flag, 3.0)
    try:
        observe("shown", len(graph.get_graph_data()["nodes"]) > before)
    except Exception as error:
        observe("shown", type(error).__name__)


@requirement("graph-data.fresh-exec-id")
def test_fresh_ids(impl: Adapter) -> None:
    """Each instantiation has an id of its own, which the nodes follow."""
    graph = instantiated(impl, row_of_operators(impl))
    earlier: list[int] = []
    shapes: list[dict[int, list[int]]] = []
    for _ in range(4):
        data = data_of(graph)
        newest = data["exec_graph_id"]
        expect(newest not in earlier, "each executable has an id of its own", f"{newest} again, after {earlier}")
        agreement = {node["graph_id"] for node in data["nodes"]} == {newest}
        expect(agreement, "the nodes name the newest executable", "they name another")
        earlier.append(newest)
        shapes.append(arrows_in(data))
        graph.instantiate()
    alike = all(counterparts(shape, shapes[0]) is not None for shape in shapes)
    expect(alike, "a new executable has the same nodes", f"{shapes}")


@requirement("graph-data.tools-ids-of-executable")
def test_tools_ids_of_executables(impl: Adapter) -> None:
    """Each executable's nodes have tools ids that no other executable's nodes have."""
    graph = instantiated(impl, row_of_operators(impl))
    earlier: set[int] = set()
    for _ in range(3):
        ids = {node["tools_id"] for node in data_of(graph)["nodes"]}
        promise = "tools_ids are the executable's, as profilers report them: another executable's nodes have others"
        expect(not ids & earlier, promise, f"{sorted(ids & earlier)} again after instantiate()")
        earlier |= ids
        graph.instantiate()


@requirement("graph-data.in-debug-mode")
def test_debug_mode(impl: Adapter) -> None:
    """A graph in debug mode has data once it is instantiated, as one with keep_graph=True."""
    graph = debugged(impl, row_of_operators(impl))
    graph.instantiate()
    data = expect_no_raise("debug mode keeps the template as keep_graph=True does", graph.get_graph_data)
    expect(bool(data["nodes"]), "graph data describe the captured work", "there are no nodes")


@requirement("graph-data.ids-differ-between-graphs")
def test_ids_of_several_graphs(impl: Adapter) -> None:
    """Graphs that are alive together share no executable id and no tools id."""
    graphs = [instantiated(impl, row_of_operators(impl)) for _ in range(3)]
    data = [data_of(graph) for graph in graphs]
    ids = [one["exec_graph_id"] for one in data]
    tools = [node["tools_id"] for one in data for node in one["nodes"]]
    expect(len(set(ids)) == 3, "each graph's executable has an id of its own", f"{ids}")
    expect(len(set(tools)) == len(tools), "no two nodes of live graphs have one tools_id", f"{tools}")


@requirement("graph-data.repeatable")
def test_asked_again(impl: Adapter) -> None:
    """Later answers are the same, after replays as well, whatever was done to earlier ones."""
    graph = instantiated(impl, row_of_operators(impl))
    first = data_of(graph)
    expected = documented(first)
    nodes = [dict(node) for node in expected["nodes"]]
    replay(impl, graph, 2)
    again = documented(data_of(graph))
    expect(again == expected, "asked again, graph data are the same", f"{again} instead of {expected}")
    first["exec_graph_id"] = -1
    first["nodes"].clear()
    for node in again["nodes"]:
        node["dependents"].append(-1)
    last = data_of(graph)
    expect(
        last["exec_graph_id"] == expected["exec_graph_id"]
        and len(last["nodes"]) == len(nodes)
        and not any(-1 in node["dependents"] for node in last["nodes"]),
        "what a caller does to one dictionary does not show in the next",
        f"{documented(last)}",
    )


@requirement("graph-data.in-post-instantiate-hook", "graph-data.fresh-exec-id")
def test_in_a_post_instantiate_hook(impl: Adapter) -> None:
    """In the hook the data are those of the executable just made."""
    graph, records = impl.new_graph(keep_graph=True), []
    graph.register_post_instantiate_hook(lambda graph: records.append(documented(data_of(graph))))
    capture_between(impl, graph, row_of_operators(impl))
    for _ in range(3):
        graph.instantiate()
        after = documented(data_of(graph))
        expect(
            records[-1] == after, "in a post-instantiate hook graph data describe the new executable", f"{records[-1]}"
        )
    ids = [data["exec_graph_id"] for data in records]
    expect(len(ids) == 3, "the hook runs after each instantiation", f"{len(ids)} times")


@requirement("graph-data.in-post-instantiate-hook-not-kept", "graph-data.lazy-executable")
def test_in_a_hook_of_a_graph_that_is_not_kept(impl: Adapter, observe: Callable[[str, Any], None]) -> None:
    """Records whether a graph without keep_graph has data in the hook."""
    graph = impl.new_graph(keep_graph=False)

    def hook(graph: Any) -> None:
        try:
            observe("in the hook", f"{len(graph.get_graph_data()['nodes'])} nodes")
        except Exception as error:
            observe("in the hook", type(error).__name__)

    graph.register_post_instantiate_hook(hook)
    capture_between(impl, graph, row_of_operators(impl))
