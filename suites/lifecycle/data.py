"""Graph data: what get_graph_data says of a graph from capture to reset."""

from __future__ import annotations

from typing import Any

from conformance.adapter import Adapter
from conformance.checks import expect, expect_raises
from suites.lifecycle.scenarios import Scenarios
from suites.support.data import data_of, following
from suites.support.handles import exec_handle, expect_no_handle
from suites.support.template import Template

REFUSED = "graph data need a kept and instantiated graph"


def no_data(impl: Adapter, graph: Any, *, handles: bool) -> None:
    """Ask a graph without an executable, which gets none by it."""
    expect_raises(REFUSED, graph.get_graph_data)
    if handles:
        expect_no_handle("a refused get_graph_data makes no executable", lambda: exec_handle(impl, graph))


def data_agree(graph: Any) -> int:
    """Reject unless the data of operators in a row agree with themselves; return the executable's id."""
    data = data_of(graph)
    nodes = data["nodes"]
    expect(nodes, "captured operators have at least a node", "no nodes")
    positions = [node["index"] for node in nodes]
    expect(positions == list(range(len(nodes))), "the index of a node is its position in the list", f"{positions}")
    forward = {(at, other) for at, node in enumerate(nodes) for other in node["dependents"]}
    backward = {(other, at) for at, node in enumerate(nodes) for other in node["dependencies"]}
    promise = "dependencies and dependents tell the same edges"
    expect(forward == backward, promise, f"they differ in {forward ^ backward}")
    ordered = sum(map(len, following(data).values()))
    promise = "work of one stream is a chain"
    expect(ordered == len(nodes) * (len(nodes) - 1) // 2, promise, f"{ordered} pairs of {len(nodes)} ordered")
    ids = {node["graph_id"] for node in nodes}
    newest = int(data["exec_graph_id"])
    expect(ids == {newest}, "the graph_id of each node is the exec_graph_id", f"{ids} instead of {newest}")
    names = [node["kernel_name"] for node in nodes if node["kernel_name"] is not None]
    expect(bool(names) and all(names), "the kernels of elementwise operators have names", f"{names}")
    return newest


def data_of_kept(impl: Adapter, graph: Any, *, edit: bool) -> None:
    """Ask a kept and instantiated graph of operators in a row, and again after an edit."""
    first = data_agree(graph)
    if not edit:
        return
    template, flag = Template(impl, graph), impl.full(37, 0.0)

    def as_the_template(promise: str) -> None:
        nodes, edges = len(template.nodes()), len(template.edges())
        data = data_of(graph)["nodes"]
        counts = len(data), sum(len(node["dependencies"]) for node in data)
        expect(counts == (nodes, edges), promise, f"{counts} nodes and edges where the template has {(nodes, edges)}")

    as_the_template("graph data have the nodes and edges of the template")
    added = template.add_memset(flag, 3.0, after=template.leaves())
    graph.instantiate()
    as_the_template("after an edit and instantiate() graph data describe the edited graph")
    data_agree(graph)
    template.remove(added)
    graph.instantiate()
    last = data_agree(graph)
    expect(last != first, "each executable has an id of its own", f"{first} again")


class Data(Scenarios):
    """Graphs that are asked for their data."""

    def scenario(self, pick: int, number: int, *, flag: bool) -> None:
        """A graph is asked empty, captured, instantiated, edited and reset, and works throughout."""
        graph, count = self.vacant(keep=True), 2 + pick % 3
        handles = self.impl.owes("raw_handles")
        edit = self.impl.runtime is not None and self.impl.owes("template_editing")
        self.step(no_data, graph, handles=handles)
        self.fill_graph(graph, pick, number, count)
        self.step(no_data, graph, handles=handles)
        self.instantiate_it(graph)
        self.step(data_of_kept, graph, edit=edit)
        graph.instantiated()
        if flag:
            self.replay_it(graph)
            self.reset_it(graph)
            self.step(no_data, graph, handles=handles)
