"""What the runtime tells about a template."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect
from conformance.markers import requirement
from suites.support.editor import kept
from suites.support.programs import fork, row_of_operators, row_or_fork
from suites.support.template import pattern_of


@requirement("template-editing.types-of-added-nodes")
@pytest.mark.parametrize("kind", ["Memset", "Memcpy", "Empty", "Host", "Graph"])
def test_type_of_an_added_node(impl: Adapter, kind: str) -> None:
    """An added node has the type that it was added as; the captured ones are as before."""
    _, template = kept(impl, row_of_operators(impl))
    _, other = kept(impl, row_of_operators(impl, 1))
    flag, source = impl.full(37, 0.0), impl.full(37, 1.0)
    before = {int(node): template.type_of(node) for node in template.nodes()}
    add: dict[str, Callable[[], Any]] = {
        "Memset": lambda: template.add_memset(flag, 1.0),
        "Memcpy": lambda: template.add_memcpy(flag, source),
        "Empty": template.add_empty,
        "Host": lambda: template.add_host(lambda: None),
        "Graph": lambda: template.add_child(other),
    }
    node = add[kind]()
    expected = getattr(impl.runtime.cudaGraphNodeType, f"cudaGraphNodeType{kind}")
    node_type = template.type_of(node)
    expect(node_type == expected, f"the runtime gives the type of an added node, here {expected!r}", f"{node_type!r}")
    after = {int(node): template.type_of(node) for node in template.nodes()}
    expect(after == {**before, int(node): expected}, "an edit leaves the captured nodes as they are", f"{after}")


@requirement("template-editing.queries-agree")
@row_or_fork("template-editing.fork-and-join")
def test_queries_agree(impl: Adapter, program: str) -> None:
    """Edges, neighbours and roots agree with each other."""
    _, template = kept(impl, fork(impl) if program == "fork" else row_of_operators(impl))
    edges, nodes = set(template.edges()), template.nodes()
    expect(bool(edges), "captured work that depends on earlier work has edges", "there are none")
    for node in nodes:
        before = {earlier for earlier, later in edges if later == int(node)}
        behind = {later for earlier, later in edges if earlier == int(node)}
        answer = template.counted("cudaGraphNodeGetDependencies", node)
        expect(answer == before, "a node's dependencies are the edges that lead to it", f"{answer} instead of {before}")
        answer = template.counted("cudaGraphNodeGetDependentNodes", node)
        expect(answer == behind, "a node's dependents are the edges that leave it", f"{answer} instead of {behind}")
    roots = {int(node) for node in nodes} - {later for _, later in edges}
    answer = template.counted("cudaGraphGetRootNodes", template.handle)
    expect(answer == roots, "the roots are the nodes that no edge leads to", f"{answer} instead of {roots}")


@requirement("template-editing.fork-and-join", "template-editing.queries-agree")
def test_fork_and_join(impl: Adapter) -> None:
    """The branches have no order; a node comes before both and one after both."""
    _, template = kept(impl, fork(impl))
    pairs, nodes = template.ordered_pairs(), [int(node) for node in template.nodes()]
    loose = [(a, b) for a in nodes for b in nodes if a < b and (a, b) not in pairs and (b, a) not in pairs]
    expect(bool(loose), "work of two streams between fork and join has no order", f"{len(nodes)} nodes are in a row")
    for left, right in loose:
        before = [node for node in nodes if (node, left) in pairs and (node, right) in pairs]
        behind = [node for node in nodes if (left, node) in pairs and (right, node) in pairs]
        expect(
            bool(before) and bool(behind),
            "both branches come after the fork and before the join",
            f"{len(before)} nodes before both, {len(behind)} after both",
        )


@requirement("template-editing.parameters-read-back")
@pytest.mark.parametrize("value", [3.0, -7.5])
def test_parameters_are_read_back(impl: Adapter, value: float) -> None:
    """A memset node says where it writes, how much and what, also after a change."""
    _, template = kept(impl, row_of_operators(impl))
    flag, other = impl.full(37, 0.0), impl.full((3, 5), 0.0)
    node = template.add_memset(flag, 1.0)
    for target in (flag, other):
        template.change_memset(node, target, value)
        parameters = template.memset_of(node)
        values = (
            int(parameters.dst),
            int(parameters.value),
            int(parameters.elementSize),
            int(parameters.width),
            int(parameters.height),
        )
        expected = (target.data_ptr(), pattern_of(value, target.dtype), 4, target.numel(), 1)
        expect(
            values == expected,
            f"a memset's destination, value, element size, width and height can be read back: {expected}",
            f"{values}",
        )
