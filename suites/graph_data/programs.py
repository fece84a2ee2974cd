"""Graph data of small programs, and what follows from them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

from conformance.adapter import Adapter
from suites.support.captures import capture_between, kept_graph
from suites.support.data import data_of, following
from suites.support.programs import fork, row_of_operators

#: The documented keys of a node.
NODE_KEYS = ("index", "node_type", "tools_id", "graph_id", "node_id", "kernel_name", "dependencies", "dependents")


def each_program(impl: Adapter) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and data of a row of operators and, unless it is declared absent, of a fork."""
    yield "row", data_of(instantiated(impl, row_of_operators(impl)))
    if impl.capabilities.get("fork_join") is not False:
        yield "fork", data_of(instantiated(impl, fork(impl)))


def instantiated(impl: Adapter, body: Callable[[], Any]) -> Any:
    """A graph with keep_graph=True holding the work of `body`, instantiated."""
    graph = kept_graph(impl, body)
    graph.instantiate()
    return graph


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


def shape_of(data: dict[str, Any]) -> list[tuple[int, int]]:
    """A graph's shape up to the numbering of its nodes: how many come before and after each."""
    after = following(data)
    return sorted((sum(node in followers for followers in after.values()), len(after[node])) for node in after)
