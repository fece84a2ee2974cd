"""Graphs compared whatever their nodes are called."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

from conformance.checks import expect
from suites.support.template import Template

One = TypeVar("One", bound=Hashable)
Other = TypeVar("Other", bound=Hashable)


def arrows(nodes: Iterable[One], edges: Iterable[tuple[One, One]]) -> dict[One, list[One]]:
    """For each node the nodes that edges lead to from it."""
    result: dict[One, list[One]] = {node: [] for node in nodes}
    for earlier, later in edges:
        result[earlier].append(later)
    return result


def arrows_of(template: Template) -> dict[int, list[int]]:
    """Those of a template, whose nodes are called by their handles."""
    return arrows((int(node) for node in template.nodes()), template.edges())


def counterparts(one: Mapping[One, Iterable[One]], other: Mapping[Other, Iterable[Other]]) -> dict[One, Other] | None:
    """The node of `other` that stands where each node of `one` stands; ``None`` when the two differ in shape.

    Where nodes stand alike, as the equal branches of a fork do, which of them is whose counterpart is arbitrary.

    >>> counterparts({"a": ["b"], "b": []}, {1: [], 2: [1]})
    {'a': 2, 'b': 1}
    >>> counterparts({"a": ["b", "c"], "b": [], "c": []}, {1: [3], 2: [3], 3: []}) is None
    True
    """
    places: dict[Hashable, int] = {}
    mine, theirs = _by_place(one, places), _by_place(other, places)
    if {place: len(nodes) for place, nodes in mine.items()} != {place: len(nodes) for place, nodes in theirs.items()}:
        return None
    return {node: theirs[place][at] for place, nodes in mine.items() for at, node in enumerate(nodes)}


def expect_forward(after: Mapping[One, set[One]], promise: str) -> None:
    """Reject unless most of the nodes that come with a fork come after all its branches, as in `uneven_fork`.

    Args:
        after: for each node those that follow it, directly or through others.
        promise: that the edges lead forward.
    """
    loose = {node for node in after for b in after if b != node and b not in after[node] and node not in after[b]}
    before_all = [node for node in after if loose <= after[node]]
    after_all = [node for node in after if all(node in after[branch] for branch in loose)]
    expect(
        bool(loose) and len(before_all) <= len(after_all),
        f"{promise}: one operator before a fork, and six after the join",
        f"{len(before_all)} nodes before all branches, {len(after_all)} after them",
    )


def _by_place(after: Mapping[One, Iterable[One]], places: dict[Hashable, int]) -> dict[int, list[One]]:
    """The nodes by where they stand; `places` numbers what was met so far, and serves all graphs to be compared."""
    before = arrows(after, ((later, earlier) for earlier, followers in after.items() for later in followers))
    at = dict.fromkeys(after, 0)
    for _ in after:  # after so many rounds each node knows of every other that edges lead to
        around = {
            node: (at[node], *(tuple(sorted(at[n] for n in near[node])) for near in (before, after))) for node in after
        }
        at = {node: places.setdefault(signature, len(places)) for node, signature in around.items()}
    result: dict[int, list[One]] = {}
    for node, place in at.items():
        result.setdefault(place, []).append(node)
    return result
