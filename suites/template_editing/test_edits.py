"""Edits of the template, and what replays do after the next instantiate()."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal
from conformance.errors import Unsupported
from conformance.markers import requirement
from suites.support.captures import replay
from suites.support.editor import kept
from suites.template_editing.programs import nodes_made_by

SIZE = 37


@requirement("template-editing.empty-node")
@pytest.mark.parametrize("place", ["before", "behind"])
def test_empty_node(impl: Adapter, place: str) -> None:
    """An empty node between the captured work and a memset carries their order."""
    x = impl.full(SIZE, 0.0)
    graph, template = kept(impl, lambda: x.add_(1))
    roots, leaves = template.roots(), template.leaves()
    if place == "behind":
        template.add_memset(x, 5.0, after=[template.add_empty(leaves)])
    else:
        barrier = template.add_empty([template.add_memset(x, 5.0)])
        for root in roots:
            template.link(barrier, root)
    graph.instantiate()
    for value in (1.0, -3.0, 8.0):
        x.fill_(value)
        replay(impl, graph)
        expected = 5.0 if place == "behind" else 6.0
        expect_equal(impl, x, expected, f"an empty node puts the memset {place} the captured addition")


@requirement("template-editing.host-node")
def test_host_nodes(impl: Adapter) -> None:
    """Two host nodes, the later one added first, run in the order of their edge, once in each replay."""
    x, ran = impl.full(SIZE, 0.0), []
    graph, template = kept(impl, lambda: x.add_(1))
    second = template.add_host(lambda: ran.append("second"))
    first = template.add_host(lambda: ran.append("first"), after=template.roots()[:1])
    template.link(first, second)
    graph.instantiate()
    expect(not ran, "instantiate() runs no host node", f"{ran}")
    for turn in range(1, 4):
        replay(impl, graph)
        expect(ran == ["first", "second"] * turn, "each replay runs each host node once, in order", f"{ran}")
        expect_equal(impl, x, float(turn), "host nodes leave the captured work in place")
    graph.reset()  # before the functions go


@requirement("template-editing.child-graph")
@pytest.mark.parametrize("place", ["before", "behind"])
def test_child_graph(impl: Adapter, place: str) -> None:
    """The child's work runs where its edges put it; later edits of its original do not reach it."""
    x, flag = impl.full(SIZE, 0.0), impl.full(SIZE, 0.0)
    graph, template = kept(impl, lambda: x.add_(1))
    _, other = kept(impl, lambda: x.mul_(3))
    roots, leaves = template.roots(), template.leaves()
    if place == "behind":
        template.add_child(other, after=leaves)
    else:
        child = template.add_child(other)
        for root in roots:
            template.link(child, root)
    other.add_memset(flag, 4.0)
    graph.instantiate()
    for value in (1.0, -3.0, 8.0):
        x.fill_(value)
        replay(impl, graph)
        expected = (value + 1) * 3 if place == "behind" else value * 3 + 1
        expect_equal(impl, x, expected, f"a child graph {place} the captured work runs there")
        expect_equal(impl, flag, 0.0, "a child graph is a copy: edits of its original do not reach it")


def _steps(x: torch.Tensor) -> list[Any]:
    return [lambda: x.add_(1), lambda: x.mul_(2), lambda: x.sub_(3)]


def _three_parts(impl: Adapter, x: torch.Tensor) -> tuple[Any, Any, list[list[Any]]]:
    """A graph of three operators in a row, its template, and the nodes of each operator."""
    steps = _steps(x)
    sizes = [nodes_made_by(impl, step) for step in steps]

    def body() -> None:
        for step in steps:
            step()

    graph, template = kept(impl, body)
    chain = template.chain()
    if len(chain) != sum(sizes):
        raise Unsupported(f"operators have no nodes of their own here: {sizes} one by one, {len(chain)} in a row")
    parts = [chain[: sizes[0]], chain[sizes[0] : sizes[0] + sizes[1]], chain[sizes[0] + sizes[1] :]]
    return graph, template, parts


@requirement("template-editing.insert-between")
@pytest.mark.parametrize("after", [0, 1], ids=["after-first", "after-second"])
def test_insert_between(impl: Adapter, after: int) -> None:
    """A memset put between two operators is seen by the later ones and hides the earlier ones."""
    x = impl.full(SIZE, 0.0)
    graph, template, parts = _three_parts(impl, x)
    earlier, later = parts[after][-1], parts[after + 1][0]
    template.unlink(earlier, later)
    template.link(template.add_memset(x, 20.0, after=[earlier]), later)
    graph.instantiate()
    for value in (1.0, -3.0, 8.0):
        x.fill_(value)
        replay(impl, graph)
        expect_equal(impl, x, 37.0 if after == 0 else 17.0, "a node put between two captured ones runs between them")


@requirement("template-editing.remove-between")
def test_remove_between(impl: Adapter) -> None:
    """The middle operator taken out runs no more; the two others run in their order."""
    x = impl.full(SIZE, 0.0)
    graph, template, parts = _three_parts(impl, x)
    for node in parts[1]:
        template.remove(node)
    template.link(parts[0][-1], parts[2][0])
    graph.instantiate()
    for value in (1.0, -3.0, 8.0):
        x.fill_(value)
        replay(impl, graph)
        expect_equal(impl, x, value - 2, "a captured node that was removed runs no more, the others do")


@requirement("template-editing.pitched-memset")
def test_part_of_each_row(impl: Adapter) -> None:
    """Columns one to three of a matrix of bytes are set, the rest is not touched."""
    x, matrix = impl.full(SIZE, 0.0), impl.full((3, 5), 9, torch.uint8)
    graph, template = kept(impl, lambda: x.add_(1))
    template.add_memset_of_columns(matrix, first=1, count=3, value=201)
    graph.instantiate()
    for turn in range(1, 4):
        matrix.fill_(turn)
        replay(impl, graph)
        row = [turn, 201, 201, 201, turn]
        expect_equal(impl, matrix, [row] * 3, "a memset of a part of each row writes that part and nothing else")
    expect_equal(impl, x, 3.0, "an edit leaves the captured work in place")


@requirement("template-editing.memcpy-parameters")
def test_memcpy_parameters(impl: Adapter) -> None:
    """Another source and destination show after instantiate(), not before."""
    x = impl.full(SIZE, 0.0)
    sources = [impl.tensor(torch.arange(SIZE, dtype=torch.float32) * factor) for factor in (2, -5)]
    targets = [impl.full(SIZE, -1.0) for _ in range(2)]
    graph, template = kept(impl, lambda: x.add_(1))
    node = template.add_memcpy(targets[0], sources[0])
    graph.instantiate()
    template.change_memcpy(node, targets[1], sources[1])
    for now in (0, 1):
        for _ in range(2):
            for target in targets:
                target.fill_(-1.0)
            replay(impl, graph)
            promise = "new parameters of a memcpy show after instantiate(), not before"
            expect_equal(impl, targets[now], torch.arange(SIZE) * (2, -5)[now], promise)
            expect_equal(impl, targets[1 - now], -1.0, promise)
        graph.instantiate()


@requirement("template-editing.program-by-hand")
@pytest.mark.parametrize("instantiated", [True, False], ids=["instantiate", "first-replay"])
def test_program_by_hand(impl: Adapter, *, instantiated: bool) -> None:
    """Nodes in an empty template, each depending on the one before, run in that order."""
    a, b, c = (impl.full((3, 5), -1.0) for _ in range(3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an empty capture may warn
        graph, template = kept(impl, lambda: None)
    first = template.add_memset(a, 2.0)
    second = template.add_memcpy(b, a, after=[first])
    third = template.add_memset(a, 9.0, after=[second])
    template.add_memcpy(c, a, after=[template.add_empty([third])])
    if instantiated:
        graph.instantiate()
    for _ in range(3):
        for tensor in (a, b, c):
            tensor.fill_(-1.0)
        replay(impl, graph)
        promise = "a program put together from nodes and edges runs in their order"
        expect_equal(impl, b, 2.0, promise)
        expect_equal(impl, a, 9.0, promise)
        expect_equal(impl, c, 9.0, promise)
