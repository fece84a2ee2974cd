"""What the runtime tells about a template: its affair and not the class's, so it is noted and never judged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.markers import requirement
from suites.support.editor import Editor, kept, told
from suites.support.programs import fork, row_of_operators
from suites.support.template import pattern_of

Observe = Callable[[str, Any], None]


def _answer(question: Callable[[], Any]) -> Any:
    """What `question` answers, or the failure that it meets, as a text."""
    try:
        return question()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@requirement("template-editing.types-of-added-nodes")
@pytest.mark.parametrize("kind", ["Memset", "Memcpy", "Empty", "Host", "Graph"])
def test_type_of_an_added_node(impl: Adapter, kind: str, observe: Observe) -> None:
    """Records the type of an added node, and whether the captured ones keep theirs."""
    graph, template = kept(impl, row_of_operators(impl))
    other_graph, other = kept(impl, row_of_operators(impl, 1))
    flag, source = impl.full(37, 0.0), impl.full(37, 1.0)
    add: dict[str, Callable[[], Any]] = {
        "Memset": lambda: template.add_memset(flag, 1.0),
        "Memcpy": lambda: template.add_memcpy(flag, source),
        "Empty": template.add_empty,
        "Host": lambda: template.add_host(lambda: None),
        "Graph": lambda: template.add_child(other),
    }

    def types() -> dict[int, Any]:
        return {int(node): template.type_of(node) for node in template.nodes()}

    def added() -> tuple[str, bool]:
        before, node = types(), add[kind]()
        after = types()
        return str(after.pop(int(node))), after == before

    observe("type of the added node, and whether the others keep theirs", _answer(added))
    graph.reset()
    other_graph.reset()


def _agreement(impl: Adapter, template: Editor) -> bool:
    """Whether edges, neighbours and roots agree with each other."""
    edges, nodes = set(template.edges()), template.nodes()
    before = {int(node): {earlier for earlier, later in edges if later == int(node)} for node in nodes}
    behind = {int(node): {later for earlier, later in edges if earlier == int(node)} for node in nodes}
    roots = {node for node, earlier in before.items() if not earlier}
    return (
        all(told(impl, "cudaGraphNodeGetDependencies", node) == before[int(node)] for node in nodes)
        and all(told(impl, "cudaGraphNodeGetDependentNodes", node) == behind[int(node)] for node in nodes)
        and told(impl, "cudaGraphGetRootNodes", template.handle) == roots
    )


@requirement("template-editing.queries-agree")
def test_queries_agree(impl: Adapter, observe: Observe) -> None:
    """Records whether edges, neighbours and roots agree with each other."""
    _, template = kept(impl, row_of_operators(impl))
    observe("queries agree", _answer(lambda: _agreement(impl, template)))


@requirement("template-editing.fork-and-join", "template-editing.queries-agree")
def test_fork_and_join(impl: Adapter, observe: Observe) -> None:
    """Records how many pairs of nodes of a fork have no order, and whether the queries agree."""
    _, template = kept(impl, fork(impl))

    def pairs_without_order() -> int:
        pairs, nodes = template.ordered_pairs(), len(template.nodes())
        return nodes * (nodes - 1) // 2 - len(pairs)

    observe("pairs of nodes without an order", _answer(pairs_without_order))
    observe("queries agree", _answer(lambda: _agreement(impl, template)))


@requirement("template-editing.parameters-read-back")
@pytest.mark.parametrize("value", [3.0, -7.5])
def test_parameters_are_read_back(impl: Adapter, value: float, observe: Observe) -> None:
    """Records whether a memset node says where it writes, how much and what, also after a change."""
    _, template = kept(impl, row_of_operators(impl))
    flag, other = impl.full(37, 0.0), impl.full((3, 5), 0.0)

    def read_back() -> list[bool]:
        node, answers = template.add_memset(flag, 1.0), []
        for target in (flag, other):
            template.change_memset(node, target, value)
            parameters = template.memset_of(node)
            names = ("dst", "value", "elementSize", "width", "height")
            values = tuple(int(getattr(parameters, name)) for name in names)
            answers.append(values == (target.data_ptr(), pattern_of(value, target.dtype), 4, target.numel(), 1))
        return answers

    observe("parameters are read back", _answer(read_back))
