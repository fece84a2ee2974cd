"""A captured graph as a record holds it: what it consisted of when its test failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.records.shapes import check_shape

#: How many graphs a result has, and how many nodes and edges each of them.
GRAPHS, NODES, EDGES = 4, 200, 400
#: How many times as many a reader takes, since later kits may write more; beyond that, a line is refused.
_TAKEN = 10

#: Who said what a graph consists of: the runtime, asked with the handle that the class gave, or the class itself.
RUNTIME, GRAPH_DATA = "runtime", "graph data"


@dataclass(frozen=True)
class GraphNode:
    """A node.

    Attributes:
        kind: such as ``Kernel`` or ``Memset``.
        label: what it does, such as a kernel's name, where the class says so in its graph data.
        stream: the name of the stream that it was captured on, or ``None`` where nobody says.
    """

    kind: str
    label: str = ""
    stream: str | None = None


@dataclass(frozen=True)
class CapturedGraph:
    """A graph.

    Attributes:
        name: by which the test's calls have it, such as ``g0``.
        source: who said so: ``runtime`` or ``graph data``.
        state: what the calls had made of it: ``captured``, ``instantiated``.
        pool: the name of its memory pool, or ``None`` where no call has shown it.
        nodes: the first of them.
        edges: between those, each as the places of a node and of one that has to wait for it.
        more_nodes, more_edges: how many others there are.
    """

    name: str
    source: str
    state: str = ""
    pool: str | None = None
    nodes: tuple[GraphNode, ...] = ()
    edges: tuple[tuple[int, int], ...] = ()
    more_nodes: int = 0
    more_edges: int = 0


def check_graphs(entries: Sequence[Any]) -> None:
    """Refuse what describes no graphs.

    Raises:
        ValueError: which part of which it is.
    """
    _check_count(entries, GRAPHS, "graphs")
    for number, entry in enumerate(entries, 1):
        try:
            _check(entry)
        except ValueError as error:
            raise ValueError(f"graph {number}: {error}") from None


def _check(entry: Mapping[str, Any]) -> None:
    check_shape(entry, CapturedGraph)
    if not entry["name"]:
        raise ValueError("name is ''")
    _check_count(entry.get("nodes", ()), NODES, "nodes")
    _check_count(entry.get("edges", ()), EDGES, "edges")
    if any(len(edge) != 2 for edge in entry.get("edges", ())):
        raise ValueError("an edge is not between two nodes")


def _check_count(entries: Sequence[Any], limit: int, what: str) -> None:
    if len(entries) > _TAKEN * limit:
        raise ValueError(f"more than {_TAKEN * limit} {what}")
