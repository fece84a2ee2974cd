"""Where the nodes of a graph go when it is drawn: rows from top to bottom, and places from left to right.

The graph may be any: what closes a circle is set apart, and the same graph gives the same places.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

#: How often the places in the rows are put in order by those of their neighbours.
_SWEEPS = 4

Edge = tuple[int, int]


@dataclass(frozen=True)
class Layers:
    """A layout.

    Attributes:
        places: of each node, its row and its place in that.
        rows: the nodes of each row.
        closing: the edges that close a circle.
    """

    places: tuple[tuple[int, int], ...]
    rows: tuple[tuple[int, ...], ...]
    closing: frozenset[Edge]


def layered(count: int, edges: Sequence[Edge], width: int) -> Layers:
    """Lay out `count` nodes, each below those that it waits for, at most `width` of them in a row."""
    order, closing = _ordered(count, edges)
    forward = [edge for edge in edges if edge not in closing]
    before: list[list[int]] = [[] for _ in range(count)]
    after: list[list[int]] = [[] for _ in range(count)]
    for start, end in forward:
        before[end].append(start)
        after[start].append(end)
    depth = [0] * count
    for node in order:
        depth[node] = max((depth[start] + 1 for start in before[node]), default=0)
    layers: list[list[int]] = [[] for _ in range(max(depth, default=-1) + 1)]
    for node in order:
        layers[depth[node]].append(node)
    _settle(layers, before, after)
    rows = tuple(tuple(layer[start : start + width]) for layer in layers for start in range(0, len(layer), width))
    places = {node: (number, place) for number, row in enumerate(rows) for place, node in enumerate(row)}
    return Layers(tuple(places[node] for node in range(count)), rows, closing)


def _ordered(count: int, edges: Sequence[Edge]) -> tuple[list[int], frozenset[Edge]]:
    """An order of the nodes that as many edges as possible follow from left to right, and the edges that do not."""
    waits_for: list[set[int]] = [set() for _ in range(count)]
    followers: list[list[int]] = [[] for _ in range(count)]
    for start, end in edges:
        waits_for[end].add(start)
        followers[start].append(end)
    order: list[int] = []
    left = set(range(count))
    free = sorted(node for node in left if not waits_for[node])
    while left:
        # In a circle nobody is free: who has the fewest to wait for goes first.
        node = free.pop(0) if free else min(left, key=lambda each: (len(waits_for[each]), each))
        order.append(node)
        left.remove(node)
        for follower in followers[node]:
            waits_for[follower].discard(node)
            if not waits_for[follower] and follower in left and follower not in free:
                free.append(follower)
    position = {node: place for place, node in enumerate(order)}
    return order, frozenset((start, end) for start, end in edges if position[start] >= position[end])


def _settle(layers: list[list[int]], before: Sequence[Sequence[int]], after: Sequence[Sequence[int]]) -> None:
    """Put each layer in the order of what its nodes hang on, so that fewer edges cross."""
    place = {node: float(index) for layer in layers for index, node in enumerate(layer)}
    for sweep in range(_SWEEPS):
        neighbours = after if sweep % 2 else before
        for layer in reversed(layers) if sweep % 2 else layers:
            weights = {
                node: sum(place[other] for other in neighbours[node]) / len(neighbours[node])
                if neighbours[node]
                else place[node]
                for node in layer
            }
            layer.sort(key=lambda node: (weights[node], place[node]))
            for index, node in enumerate(layer):
                place[node] = float(index)
