"""Keys, types and what must agree within one dictionary."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect
from conformance.markers import requirement
from suites.graph_data.programs import NODE_KEYS, documented, empty, instantiated
from suites.support.data import data_of, following
from suites.support.handles import runtime_call
from suites.support.programs import fork, row_of_operators, row_or_fork
from suites.support.template import Template

PROGRAMS: dict[str, Callable[[Adapter], Callable[[], None]]] = {"row": row_of_operators, "fork": fork}
EACH_PROGRAM = row_or_fork("graph-data.fork-and-join")


def _data(impl: Adapter, program: str) -> dict[str, Any]:
    return data_of(instantiated(impl, PROGRAMS[program](impl)))


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


@requirement("graph-data.keys")
def test_keys(impl: Adapter) -> None:
    """The documented keys are there; more may be."""
    data = _data(impl, "row")
    expect(isinstance(data, dict), "get_graph_data returns a dictionary", f"{type(data).__name__}")
    expect({"exec_graph_id", "nodes"} <= set(data), "it has exec_graph_id and nodes", f"keys {sorted(data)}")
    expect(len(data["nodes"]) >= 4, "four captured operators have a node each", f"{len(data['nodes'])} nodes")
    for node in data["nodes"]:
        missing = [key for key in NODE_KEYS if key not in node]
        expect(not missing, "each node has the documented keys", f"{missing} missing")


@requirement("graph-data.types")
def test_types(impl: Adapter) -> None:
    """Numbers are ints, names are texts, neighbours are lists of ints."""
    data = _data(impl, "row")
    expect(_is_int(data["exec_graph_id"]), "exec_graph_id is an int", f"{data['exec_graph_id']!r}")
    expect(isinstance(data["nodes"], list), "nodes is a list", f"{type(data['nodes']).__name__}")
    for node in data["nodes"]:
        expect(isinstance(node, dict), "a node is a dictionary", f"{node!r}")
        for key in ("index", "tools_id", "graph_id", "node_id"):
            expect(_is_int(node[key]), f"{key} of a node is an int", f"{node[key]!r}")
        word, name = node["node_type"], node["kernel_name"]
        expect(isinstance(word, str) and word, "node_type is a text", f"{word!r}")
        expect(name is None or isinstance(name, str), "kernel_name is a text or None", f"{name!r}")
        for key in ("dependencies", "dependents"):
            fine = isinstance(node[key], list) and all(map(_is_int, node[key]))
            expect(fine, f"{key} of a node is a list of ints", f"{node[key]!r}")


@requirement("graph-data.index-is-position")
@EACH_PROGRAM
def test_index(impl: Adapter, program: str) -> None:
    """Index and position are the same."""
    indices = [node["index"] for node in _data(impl, program)["nodes"]]
    expect(indices == list(range(len(indices))), "the index of a node is its position in the list", f"{indices}")


@requirement("graph-data.neighbours-are-nodes")
@EACH_PROGRAM
def test_neighbours_are_nodes(impl: Adapter, program: str) -> None:
    """Each neighbour is another node of the list, named once."""
    nodes = _data(impl, program)["nodes"]
    for position, node in enumerate(nodes):
        for key in ("dependencies", "dependents"):
            fine = set(node[key]) <= set(range(len(nodes))) - {position} and len(set(node[key])) == len(node[key])
            expect(fine, f"{key} are positions of other nodes, each once", f"node {position}: {node[key]}")


@requirement("graph-data.neighbours-agree")
@EACH_PROGRAM
def test_neighbours_agree(impl: Adapter, program: str) -> None:
    """Both lists give the same edges."""
    nodes = _data(impl, program)["nodes"]
    forward = {(at, other) for at, node in enumerate(nodes) for other in node["dependents"]}
    backward = {(other, at) for at, node in enumerate(nodes) for other in node["dependencies"]}
    expect(
        forward == backward, "dependencies and dependents tell the same edges", f"they differ in {forward ^ backward}"
    )
    expect(bool(forward), "work of one stream has dependencies", "there are none")


@requirement("graph-data.acyclic")
@EACH_PROGRAM
def test_acyclic(impl: Adapter, program: str) -> None:
    """No node comes after itself."""
    circular = [node for node, after in following(_data(impl, program)).items() if node in after]
    expect(not circular, "the dependencies of a captured graph have no cycle", f"{circular} come after themselves")


@requirement("graph-data.graph-id-of-executable")
@EACH_PROGRAM
def test_graph_id(impl: Adapter, program: str) -> None:
    """Each node names the executable."""
    data = _data(impl, program)
    graph_ids = {node["graph_id"] for node in data["nodes"]}
    expect(
        graph_ids == {data["exec_graph_id"]}, f"graph_id is the exec_graph_id, {data['exec_graph_id']}", f"{graph_ids}"
    )


@requirement("graph-data.tools-ids-differ")
@EACH_PROGRAM
def test_ids_of_nodes(impl: Adapter, program: str) -> None:
    """No two nodes of a graph have one id."""
    nodes = _data(impl, program)["nodes"]
    for key in ("tools_id", "node_id"):
        ids = [node[key] for node in nodes]
        expect(len(set(ids)) == len(ids), f"each node has a {key} of its own", f"{ids}")


@requirement("graph-data.tools-id-layout")
def test_layout_of_tools_ids(impl: Adapter, observe: Callable[[str, Any], None]) -> None:
    """Records whether a tools_id is the executable's id above the node's."""
    data = _data(impl, "row")
    layout = [node["tools_id"] == data["exec_graph_id"] << 32 | node["node_id"] for node in data["nodes"]]
    observe("exec_graph_id above 32 bits of node_id", all(layout))


@requirement("graph-data.kernel-name")
def test_kernel_names(impl: Adapter) -> None:
    """An elementwise operator is a kernel with a name; nodes of one type all have names or all have none."""
    nodes = _data(impl, "row")["nodes"]
    with_names = {node["node_type"] for node in nodes if node["kernel_name"] is not None}
    without_names = {node["node_type"] for node in nodes if node["kernel_name"] is None}
    expect(bool(with_names), "the kernels of elementwise operators have names", f"none among types {without_names}")
    expect(
        not with_names & without_names,
        "all kernels have names, and nothing else has",
        f"{with_names & without_names} with and without",
    )
    expect(all(node["kernel_name"] != "" for node in nodes), "a kernel's name is not empty", "one is")


@requirement("graph-data.kernel-name", "graph-data.node-type-tells-types-apart")
def test_types_of_nodes(impl: Adapter) -> None:
    """Kernels, memsets, memcpys and empty nodes are told apart; only kernels have names."""
    graph, flag, source = instantiated(impl, row_of_operators(impl)), impl.full(37, 0.0), impl.full(37, 1.0)
    template = Template(impl, graph)
    template.add_memset(flag, 1.0)
    template.add_memset(flag, 2.0, after=template.leaves())
    template.add_memcpy(flag, source, after=template.leaves())
    runtime_call(impl, "cudaGraphAddEmptyNode", template.handle, None, 0)
    graph.instantiate()
    types = impl.runtime.cudaGraphNodeType
    kinds = [runtime_call(impl, "cudaGraphNodeGetType", node)[0] for node in template.nodes()]
    nodes = data_of(graph)["nodes"]
    words: dict[str, int] = {}
    for node in nodes:
        words[node["node_type"]] = words.get(node["node_type"], 0) + 1
    expected = sorted(kinds.count(kind) for kind in set(kinds))
    promise = f"there are as many words for types as types, for {expected} nodes"
    expect(sorted(words.values()) == expected, promise, f"{words}")
    names = sum(node["kernel_name"] is not None for node in nodes)
    kernels = kinds.count(types.cudaGraphNodeTypeKernel)
    expect(names == kernels, f"the {kernels} kernels have names, and nothing else has", f"{names} nodes have")


@requirement("graph-data.chain")
@pytest.mark.parametrize("operators", [1, 2, 5])
def test_chain(impl: Adapter, operators: int) -> None:
    """Of any two nodes one comes after the other."""
    after = following(data_of(instantiated(impl, row_of_operators(impl, operators))))
    nodes = len(after)
    expect(nodes >= operators, f"{operators} captured operators have a node each", f"{nodes} nodes")
    pairs = sum(map(len, after.values()))
    expect(pairs == nodes * (nodes - 1) // 2, "work of one stream is a chain", f"{pairs} pairs of {nodes} ordered")


@requirement("graph-data.fork-and-join", "graph-data.neighbours-agree")
def test_fork_and_join(impl: Adapter) -> None:
    """The branches are independent; a node comes before both and one after both."""
    after = following(_data(impl, "fork"))
    loose = [(a, b) for a in after for b in after if a < b and b not in after[a] and a not in after[b]]
    expect(bool(loose), "two branches of a fork do not depend on each other", f"all {len(after)} nodes are in a row")
    for left, right in loose:
        expect(
            any({left, right} <= later for later in after.values()) and bool(after[left] & after[right]),
            "both branches depend on what came before the fork, and what comes after the join on both",
            f"nodes {left} and {right} have no common ancestor or no common successor",
        )


@requirement("graph-data.empty")
def test_empty(impl: Adapter) -> None:
    """An empty graph has an id and an empty list."""
    graph = empty(impl)
    graph.instantiate()
    data = data_of(graph)
    expect(_is_int(data["exec_graph_id"]), "exec_graph_id is an int", f"{data['exec_graph_id']!r}")
    expect(data["nodes"] == [], "an empty graph has no nodes", f"{data['nodes']!r}")


@requirement("graph-data.plain-data")
@EACH_PROGRAM
def test_plain_data(impl: Adapter, program: str) -> None:
    """Written as JSON and read back the documented values are the same."""
    data = documented(_data(impl, program))
    try:
        again = json.loads(json.dumps(data, allow_nan=False))
    except (TypeError, ValueError) as error:
        again = f"{type(error).__name__}: {error}"
    expect(again == data, "graph data are plain values that JSON can hold", f"{again!r}"[:300])
