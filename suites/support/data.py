"""Graph data, and what follows from them."""

from __future__ import annotations

from typing import Any

from conformance.checks import expect_no_raise


def data_of(graph: Any) -> dict[str, Any]:
    """The data of a graph that must have them."""
    data: dict[str, Any] = expect_no_raise("a kept and instantiated graph has graph data", graph.get_graph_data)
    return data


def arrows_in(data: dict[str, Any]) -> dict[int, list[int]]:
    """For each node the nodes that depend on it directly."""
    return {position: list(node["dependents"]) for position, node in enumerate(data["nodes"])}


def following(data: dict[str, Any]) -> dict[int, set[int]]:
    """For each node the nodes that depend on it, directly or through others."""
    result: dict[int, set[int]] = {}
    for start in range(len(data["nodes"])):
        followers: set[int] = set()
        waiting = [start]
        while waiting:
            new = set(data["nodes"][waiting.pop()]["dependents"]) - followers
            followers |= new
            waiting.extend(new)
        result[start] = followers
    return result
