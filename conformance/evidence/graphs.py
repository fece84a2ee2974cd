"""Reads what a test's graphs consist of, when the test has failed.

Only a graph whose template is kept can be asked, and only by ways that the implementation is documented to have.  What
comes back may be wrong in any way, since the class has just failed: it is taken as it is, as far as it has the right
form, and whoever calls this must have put the test's verdict in safety, because a handle that dangles ends the process.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from conformance.errors import Unsupported
from conformance.evidence.names import KnownGraph, Names
from conformance.records.graphs import EDGES, GRAPH_DATA, GRAPHS, NODES, RUNTIME

if TYPE_CHECKING:
    from conformance.adapter import Adapter

#: Seconds after which no other graph or node is asked.
_PATIENCE_S = 2.0
_LABEL = 200
_READABLE = frozenset({"captured", "instantiated"})


class _Unreadable(Exception):
    """What was asked did not answer, or not in the documented form."""


def readable(adapter: Adapter, names: Names) -> list[tuple[KnownGraph, Any]]:
    """The last graphs of a test that can be asked what they consist of."""
    if not (_has_runtime(adapter) or adapter.owes("graph_data")):
        return []
    kept = [pair for pair in names.living_graphs() if pair[0].kept and pair[0].state in _READABLE]
    return kept[-GRAPHS:]


def read(adapter: Adapter, names: Names, graphs: Iterable[tuple[KnownGraph, Any]]) -> list[dict[str, Any]]:
    """What they consist of, as `conformance.records.graphs.CapturedGraph`; one that does not say is left out."""
    deadline = time.monotonic() + _PATIENCE_S
    found = []
    for known, graph in graphs:
        contents = _first_of(_ways(adapter, known, graph, deadline)) if time.monotonic() < deadline else None
        if contents is not None:
            pool = known.pool or _pool(adapter, names, graph)
            found.append({"name": known.name, "state": known.state, "pool": pool, **contents})
    return found


_Way = Callable[[], dict[str, Any]]


def _ways(adapter: Adapter, known: KnownGraph, graph: Any, deadline: float) -> Iterator[_Way]:
    """How a graph can be asked, the most trustworthy way first."""
    if _has_runtime(adapter):
        yield lambda: _labelled(
            _from_runtime(adapter.runtime, adapter.raw_graph(graph), deadline), _data(adapter, known, graph)
        )
    yield _data(adapter, known, graph)


def _data(adapter: Adapter, known: KnownGraph, graph: Any) -> _Way:
    def ask() -> dict[str, Any]:
        if not adapter.owes("graph_data") or known.state != "instantiated":
            raise _Unreadable
        return _from_data(graph.get_graph_data())

    return ask


def _labelled(contents: dict[str, Any], ask: _Way) -> dict[str, Any]:
    """`contents` with the class's names of kernels, if its graph data is of the same nodes: the runtime has none.

    A class has words of its own for the types of nodes, so that only which nodes are of one type can be compared.
    """
    described = _first_of([ask])
    if described is None or contents["more_nodes"] != described["more_nodes"]:
        return contents
    nodes = list(zip(contents["nodes"], described["nodes"], strict=False))
    words = {(here["kind"], there["kind"]) for here, there in nodes}
    one_to_one = len({here for here, _ in words}) == len({there for _, there in words}) == len(words)
    if one_to_one and len(contents["nodes"]) == len(described["nodes"]):
        contents["nodes"] = [{**here, "label": there["label"]} for here, there in nodes]
    return contents


def _first_of(ways: Iterable[_Way]) -> dict[str, Any] | None:
    for way in ways:
        with contextlib.suppress(Exception, Unsupported):  # the class has failed a test, and may do so here in any way
            return way()
    return None


def _pool(adapter: Adapter, names: Names, graph: Any) -> str | None:
    if not adapter.owes("pools"):
        return None
    try:
        return names.pool(graph.pool())
    except Exception:  # likewise
        return None


# -- by the runtime ---------------------------------------------------------------------------------------------------


def _has_runtime(adapter: Adapter) -> bool:
    return adapter.runtime is not None and adapter.owes("raw_handles")


def _from_runtime(runtime: Any, handle: int, deadline: float) -> dict[str, Any]:
    if not handle:
        raise _Unreadable
    template = runtime.cudaGraph_t(init_value=handle)
    count = int(_asked(runtime.cudaGraphGetNodes(template))[-1])
    nodes = list(_asked(runtime.cudaGraphGetNodes(template, count))[0])[:count] if count else []
    number = int(_asked(runtime.cudaGraphGetEdges(template))[-1])
    starts, ends = _asked(runtime.cudaGraphGetEdges(template, number))[:2] if number else ((), ())
    places = {int(node): place for place, node in enumerate(nodes[:NODES])}
    edges = [
        [places[int(start)], places[int(end)]]
        for start, end in zip(starts, ends, strict=False)
        if int(start) in places and int(end) in places
    ]
    described = []
    for node in nodes[:NODES]:
        if time.monotonic() >= deadline:
            raise _Unreadable
        described.append(_node_of(runtime, node))
    return _values(RUNTIME, described, edges, count, number)


def _node_of(runtime: Any, node: Any) -> dict[str, Any]:
    (kind,) = _asked(runtime.cudaGraphNodeGetType(node))
    name = str(getattr(kind, "name", kind)).removeprefix("cudaGraphNodeType")
    return {"kind": name, "label": "", "stream": None}


def _asked(answer: Sequence[Any]) -> Sequence[Any]:
    error, *results = answer
    if int(error) != 0:
        raise _Unreadable
    return results


# -- by the class -----------------------------------------------------------------------------------------------------


def _from_data(data: Any) -> dict[str, Any]:
    nodes = list(data["nodes"])
    described, edges = [], []
    total = 0
    for place, node in enumerate(nodes):
        dependents = list(node["dependents"])
        total += len(dependents)
        if place < NODES:
            described.append(
                {
                    "kind": str(node["node_type"])[:_LABEL],
                    "label": str(node.get("kernel_name") or "")[:_LABEL],
                    "stream": None,
                }
            )
            edges += [[place, int(other)] for other in dependents if 0 <= int(other) < NODES]
    return _values(GRAPH_DATA, described, edges, len(nodes), total)


def _values(
    source: str, nodes: list[dict[str, Any]], edges: list[list[int]], all_nodes: int, all_edges: int
) -> dict[str, Any]:
    shown = edges[:EDGES]
    return {
        "source": source,
        "nodes": nodes,
        "edges": shown,
        "more_nodes": max(all_nodes - len(nodes), 0),
        "more_edges": max(all_edges - len(shown), 0),
    }
