"""Keys, types and what must agree within one dictionary."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect, fail
from conformance.markers import requirement
from suites.graph_data.programs import NODE_KEYS, documented, each_program, edited, empty, instantiated
from suites.support.captures import kept_graph
from suites.support.data import arrows_in, data_of, following
from suites.support.handles import runtime_call, runtime_of
from suites.support.programs import fork, row_of_operators, uneven_fork
from suites.support.shape import arrows_of, counterparts, expect_forward
from suites.support.template import Template


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


@requirement("graph-data.keys")
def test_keys(impl: Adapter) -> None:
    """The documented keys are there; more may be.  Work has a node: how many is left open."""
    data = data_of(instantiated(impl, row_of_operators(impl)))
    expect(isinstance(data, dict), "get_graph_data returns a dictionary", f"{type(data).__name__}")
    expect({"exec_graph_id", "nodes"} <= set(data), "it has exec_graph_id and nodes", f"keys {sorted(data)}")
    expect(len(data["nodes"]) >= 1, "captured work has at least one node", "there is none")
    for node in data["nodes"]:
        missing = [key for key in NODE_KEYS if key not in node]
        expect(not missing, "each node has the documented keys", f"{missing} missing")


@requirement("graph-data.types")
def test_types(impl: Adapter) -> None:
    """Numbers are ints, names are texts, neighbours are lists of ints."""
    data = data_of(instantiated(impl, row_of_operators(impl)))
    expect(_is_int(data["exec_graph_id"]), "exec_graph_id is an int", f"{data['exec_graph_id']!r}")
    expect(isinstance(data["nodes"], list), "nodes is a list", f"{type(data['nodes']).__name__}")
    for node in data["nodes"]:
        expect(isinstance(node, dict), "a node is a dictionary", f"{node!r}")
        for key in ("index", "tools_id", "graph_id", "node_id"):
            expect(_is_int(node[key]), f"{key} of a node is an int", f"{node[key]!r}")
        word, name = node["node_type"], node["kernel_name"]
        expect(isinstance(word, str), "node_type is a text", f"{word!r}")
        expect(name is None or isinstance(name, str), "kernel_name is a text or None", f"{name!r}")
        for key in ("dependencies", "dependents"):
            fine = isinstance(node[key], list) and all(map(_is_int, node[key]))
            expect(fine, f"{key} of a node is a list of ints", f"{node[key]!r}")


@requirement("graph-data.index-is-position")
def test_index(impl: Adapter) -> None:
    """Index and position are the same."""
    for program, data in each_program(impl):
        indices = [node["index"] for node in data["nodes"]]
        promise = "the index of a node is its position in the list"
        expect(indices == list(range(len(indices))), promise, f"{program}: {indices}")


@requirement("graph-data.neighbours-are-nodes")
def test_neighbours_are_nodes(impl: Adapter) -> None:
    """Each neighbour is another node of the list."""
    for program, data in each_program(impl):
        positions = set(range(len(data["nodes"])))
        for position, node in enumerate(data["nodes"]):
            for key in ("dependencies", "dependents"):
                fine = set(node[key]) <= positions - {position}
                expect(fine, f"{key} are positions of other nodes", f"{program}, node {position}: {node[key]}")


@requirement("graph-data.neighbours-agree")
def test_neighbours_agree(impl: Adapter) -> None:
    """Both lists give the same edges."""
    for program, data in each_program(impl):
        forward = {(at, other) for at, node in enumerate(data["nodes"]) for other in node["dependents"]}
        backward = {(other, at) for at, node in enumerate(data["nodes"]) for other in node["dependencies"]}
        promise = "dependencies and dependents tell the same edges"
        expect(forward == backward, promise, f"{program}: they differ in {forward ^ backward}")


@requirement("graph-data.neighbours-agree")
def test_neighbours_of_a_node_that_joins(impl: Adapter) -> None:
    """A node that waits for several has each of them once among its dependencies."""
    graph, _ = edited(impl)
    nodes = data_of(graph)["nodes"]
    for position, node in enumerate(nodes):
        expected = sorted(other["index"] for other in nodes if position in other["dependents"])
        promise = "the dependencies of a node are the nodes that have it as a dependent, each named once"
        expect(sorted(node["dependencies"]) == expected, promise, f"{node['dependencies']} instead of {expected}")


@requirement("graph-data.acyclic")
def test_acyclic(impl: Adapter) -> None:
    """No node comes after itself, nor is any named twice among a node's neighbours."""
    for program, data in each_program(impl):
        circular = [node for node, after in following(data).items() if node in after]
        promise = "the dependencies of a captured graph have no cycle"
        expect(not circular, promise, f"{program}: {circular} come after themselves")
        for node in data["nodes"]:
            for key in ("dependencies", "dependents"):
                expect(len(set(node[key])) == len(node[key]), f"{key} name a node once", f"{program}: {node[key]}")


@requirement("graph-data.graph-id-of-executable")
def test_graph_id(impl: Adapter) -> None:
    """Each node names the executable."""
    for program, data in each_program(impl):
        graph_ids, executable = {node["graph_id"] for node in data["nodes"]}, data["exec_graph_id"]
        expect(graph_ids == {executable}, f"graph_id is the exec_graph_id, {executable}", f"{program}: {graph_ids}")


@requirement("graph-data.tools-ids-differ")
def test_ids_of_nodes(impl: Adapter) -> None:
    """No two nodes of a graph have one id."""
    for program, data in each_program(impl):
        for key in ("tools_id", "node_id"):
            ids = [node[key] for node in data["nodes"]]
            expect(len(set(ids)) == len(ids), f"each node has a {key} of its own", f"{program}: {ids}")


@requirement("graph-data.tools-id-layout")
def test_layout_of_tools_ids(impl: Adapter, observe: Callable[[str, Any], None]) -> None:
    """Records whether a tools_id is the executable's id above the node's."""
    data = data_of(instantiated(impl, row_of_operators(impl)))
    layout = [node["tools_id"] == data["exec_graph_id"] << 32 | node["node_id"] for node in data["nodes"]]
    observe("exec_graph_id above 32 bits of node_id", all(layout))


@requirement("graph-data.kernel-name")
def test_kernel_names(impl: Adapter) -> None:
    """An elementwise operator is a kernel with a name; nodes of one type all have names or all have none."""
    nodes = data_of(instantiated(impl, row_of_operators(impl)))["nodes"]
    with_names = {node["node_type"] for node in nodes if node["kernel_name"] is not None}
    without_names = {node["node_type"] for node in nodes if node["kernel_name"] is None}
    expect(bool(with_names), "the kernels of elementwise operators have names", f"none among types {without_names}")
    expect(
        not with_names & without_names,
        "all kernels have names, and nothing else has",
        f"{with_names & without_names} with and without",
    )
    expect(all(node["kernel_name"] != "" for node in nodes), "a kernel's name is not empty", "one is")


@requirement("graph-data.kernel-name")
def test_kernel_names_in_order(impl: Adapter) -> None:
    """Each kernel of a chain has the name that it has alone, as far as operators are one kernel each."""
    x = impl.full(37, 1.0)
    operators: list[Callable[[], Any]] = [lambda: x.add_(1.0), lambda: x.mul_(2.0), x.neg_, x.relu_]

    def chain() -> None:
        for operator in operators:
            operator()

    alone = [_names_in_order(impl, operator) for operator in operators]
    together = _names_in_order(impl, chain)
    if any(len(names) != 1 for names in alone) or len(together) != len(operators):
        return
    expected = [names[0] for names in alone]
    expect(together == expected, "a kernel's node has its own name", f"{together} where the kernels are {expected}")


def _names_in_order(impl: Adapter, body: Callable[[], Any]) -> list[Any]:
    """The kernel names of a chain's nodes, from its first node to its last."""
    data = data_of(instantiated(impl, body))
    after = following(data)
    return [data["nodes"][node]["kernel_name"] for node in sorted(after, key=lambda node: -len(after[node]))]


@requirement("graph-data.kernel-name", "graph-data.node-type-tells-types-apart")
def test_types_of_nodes(impl: Adapter) -> None:
    """Kernels, memsets, memcpys and empty nodes are told apart, each in its place; kernels have names, others none."""
    graph, flag, source = kept_graph(impl, row_of_operators(impl)), impl.full(37, 0.0), impl.full(37, 1.0)
    template = Template(impl, graph)
    memset = template.add_memset(flag, 2.0, after=template.leaves())
    copy = template.add_memcpy(flag, source, after=[memset])
    runtime_call(impl, "cudaGraphAddEmptyNode", template.handle, [copy], 1)
    graph.instantiate()
    data = data_of(graph)
    places = counterparts(arrows_of(template), arrows_in(data))
    if places is None:
        fail("graph data have the nodes and edges of the template", f"dependents {arrows_in(data)}")
    kinds = {int(node): int(runtime_call(impl, "cudaGraphNodeGetType", node)[0]) for node in template.nodes()}
    pairs = {(kind, data["nodes"][places[node]]["node_type"]) for node, kind in kinds.items()}
    promise = "each node has the word for its type, and there are as many words as types"
    expect(len(pairs) == len({kind for kind, _ in pairs}) == len({word for _, word in pairs}), promise, f"{pairs}")
    kernel = int(runtime_of(impl).cudaGraphNodeType.cudaGraphNodeTypeKernel)
    for node, kind in kinds.items():
        described = data["nodes"][places[node]]
        promise = "kernels have names, and nothing else has"
        expect((described["kernel_name"] is not None) == (kind == kernel), promise, f"{described}")


@requirement("graph-data.chain")
@pytest.mark.parametrize("operators", [1, 2, 5])
def test_chain(impl: Adapter, operators: int) -> None:
    """Of any two nodes one comes after the other; several operators may be one node."""
    after = following(data_of(instantiated(impl, row_of_operators(impl, operators))))
    nodes = len(after)
    expect(nodes >= 1, "captured work has at least one node", "there is none")
    pairs = sum(map(len, after.values()))
    expect(pairs == nodes * (nodes - 1) // 2, "work of one stream is a chain", f"{pairs} pairs of {nodes} ordered")


@requirement("graph-data.fork-and-join", "graph-data.chain")
def test_fork_and_join(impl: Adapter) -> None:
    """The branches are independent; a node comes before both and one after both."""
    after = following(data_of(instantiated(impl, fork(impl))))
    loose = [(a, b) for a in after for b in after if a < b and b not in after[a] and a not in after[b]]
    expect(bool(loose), "two branches of a fork do not depend on each other", f"all {len(after)} nodes are in a row")
    for left, right in loose:
        expect(
            any({left, right} <= later for later in after.values()) and bool(after[left] & after[right]),
            "both branches depend on what came before the fork, and what comes after the join on both",
            f"nodes {left} and {right} have no common ancestor or no common successor",
        )


@requirement("graph-data.fork-and-join")
def test_direction(impl: Adapter) -> None:
    """Of a little work before a fork and much after the join, most comes after: the edges lead forward."""
    expect_forward(following(data_of(instantiated(impl, uneven_fork(impl)))), "dependents come after a node")


@requirement("graph-data.empty")
def test_empty(impl: Adapter) -> None:
    """An empty graph has an id and an empty list."""
    graph = empty(impl)
    graph.instantiate()
    data = data_of(graph)
    expect(_is_int(data["exec_graph_id"]), "exec_graph_id is an int", f"{data['exec_graph_id']!r}")
    expect(data["nodes"] == [], "an empty graph has no nodes", f"{data['nodes']!r}")


@requirement("graph-data.plain-data")
def test_plain_data(impl: Adapter) -> None:
    """Written as JSON and read back the documented values are the same."""
    for _, data in each_program(impl):
        plain = documented(data)
        try:
            again = json.loads(json.dumps(plain, allow_nan=False))
        except (TypeError, ValueError) as error:
            again = f"{type(error).__name__}: {error}"
        expect(again == plain, "graph data are plain values that JSON can hold", f"{again!r}"[:300])
