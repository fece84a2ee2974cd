"""Graph data of small programs, and what follows from them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

from conformance.adapter import Adapter
from suites.support.captures import capture_between, kept_graph
from suites.support.data import data_of
from suites.support.programs import fork, row_of_operators
from suites.support.template import Template

#: The documented keys of a node.
NODE_KEYS = ("index", "node_type", "tools_id", "graph_id", "node_id", "kernel_name", "dependencies", "dependents")


#: More than a table of a fixed size holds that nobody thought of.
MANY = 133


def each_program(impl: Adapter) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and data of rows of few and of many operators and, unless it is declared absent, of a fork."""
    yield "row", data_of(instantiated(impl, row_of_operators(impl)))
    yield "long row", data_of(instantiated(impl, row_of_operators(impl, MANY)))
    if impl.capabilities.get("fork_join") is not False:
        yield "fork", data_of(instantiated(impl, fork(impl)))


def instantiated(impl: Adapter, body: Callable[[], Any]) -> Any:
    """A graph with keep_graph=True holding the work of `body`, instantiated."""
    graph = kept_graph(impl, body)
    graph.instantiate()
    return graph


def edited(impl: Adapter) -> tuple[Any, Template]:
    """An instantiated graph of a row of operators with a memset behind it, two in a row and one that waits for all.

    Each node stands in a place of its own, and the other way round the graph has another shape.

    Returns:
        The graph and its template.
    """
    graph, flag = kept_graph(impl, row_of_operators(impl)), impl.full(37, 0.0)
    template = Template(impl, graph)
    leaves = template.leaves()
    one = template.add_memset(flag, 1.0, after=leaves)
    first = template.add_memset(flag, 2.0, after=leaves)
    second = template.add_memset(flag, 3.0, after=[first])
    template.add_memset(flag, 4.0, after=[*leaves, one, second])
    graph.instantiate()
    return graph, template


def empty(impl: Adapter) -> Any:
    """A graph with keep_graph=True that captured nothing."""
    graph = impl.new_graph(keep_graph=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an empty capture may warn
        capture_between(impl, graph, lambda: None)
    return graph


def documented(data: dict[str, Any]) -> dict[str, Any]:
    """The documented part of the data."""
    return {
        "exec_graph_id": data["exec_graph_id"],
        "nodes": [{key: node[key] for key in NODE_KEYS} for node in data["nodes"]],
    }
