"""A record's reader takes graphs of the right form, however odd, and refuses the others with a reason."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.records.graphs import EDGES, GRAPHS, NODES, check_graphs
from tests.conformance.test_record import GRAPH


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"edges": [[0, 9], [0, 0], [10**40, 1]]},
        {"nodes": []},
        {"nodes": [{"kind": ""}] * 10 * NODES, "edges": [[0, 0]] * 10 * EDGES},
        {"source": "a later one", "other": 1},
    ],
)
def test_odd_graphs_are_taken(change: dict[str, Any]) -> None:
    check_graphs([{**GRAPH, **change}])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"name": ""}, "graph 1: name is ''"),
        ({"name": None}, "graph 1: name is None"),
        ({"source": 1}, "graph 1: source is 1"),
        ({"edges": [[0]]}, "graph 1: an edge is not between two nodes"),
        ({"edges": [[0, 1, 2]]}, "graph 1: an edge is not between two nodes"),
        ({"edges": [[0, -1]]}, r"graph 1: edges is \[\[0, -1\]\]"),
        ({"edges": [[0, True]]}, r"graph 1: edges is \[\[0, True\]\]"),
        ({"edges": {"0": 1}}, "graph 1: edges is "),
        ({"nodes": [{}]}, "graph 1: nodes is "),
        ({"nodes": [{"kind": "Kernel", "stream": 1}]}, "graph 1: nodes is "),
        ({"more_nodes": -1}, "graph 1: more_nodes is -1"),
        ({"nodes": [{"kind": ""}] * (10 * NODES + 1)}, "graph 1: more than 2000 nodes"),
        ({"edges": [[0, 0]] * (10 * EDGES + 1)}, "graph 1: more than 4000 edges"),
    ],
)
def test_what_is_no_graph_is_refused(change: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=f"^{why}"):
        check_graphs([{**GRAPH, **change}])


def test_too_many_graphs_are_refused() -> None:
    with pytest.raises(ValueError, match="more than 40 graphs"):
        check_graphs([GRAPH] * (10 * GRAPHS + 1))
