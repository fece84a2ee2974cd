"""What a with block captures, and what it binds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_no_raise
from conformance.markers import requirement
from suites.support.captures import capture_into, captured, replay


@requirement("context-manager.captures-body")
def test_body_is_captured(impl: Adapter) -> None:
    """The body does not run; after the block the graph replays it without another call."""
    x = impl.full(37, 2.0)
    graph = impl.new_graph()
    with impl.capture(graph):
        x.mul_(3.0)
        x.add_(1.0)
    expect_equal(impl, x, 2.0, "captured work does not run before a replay")
    expected = 2.0
    for _ in range(3):
        replay(impl, graph)
        expected = expected * 3.0 + 1.0
        expect_equal(impl, x, expected, "the graph is ready to replay when the block is left")


@requirement("context-manager.captures-body")
def test_work_around_the_block(impl: Adapter) -> None:
    """Work before and after the block runs at once and is not captured."""
    x, y = impl.full(37, 0.0), impl.full(37, 0.0)
    graph = impl.new_graph()
    x.add_(1.0)
    with impl.capture(graph):
        y.add_(1.0)
    x.add_(1.0)
    expect_equal(impl, x, 2.0, "work around the block runs as usual")
    replay(impl, graph, times=3)
    expect_equal(impl, x, 2.0, "work around the block is not captured")
    expect_equal(impl, y, 3.0, "the body of the block is captured")


@requirement("context-manager.captures-body")
def test_writes_before_the_block_are_seen(impl: Adapter) -> None:
    """A replay right after the block sees what was issued before it, without any wait by the user."""
    x = impl.full(37, 0.0)
    x.fill_(6.0)
    graph = impl.new_graph()
    with impl.capture(graph):
        y = x * 2.0
    graph.replay()
    expect_equal(impl, y, 12.0, "work from before the block is done before a replay reads it")


@requirement("context-manager.consecutive")
def test_several_graphs(impl: Adapter) -> None:
    """Blocks that follow one another fill one graph each, with nothing of the others."""
    tensors = [impl.full(37, 0.0) for _ in range(4)]
    graphs: list[Any] = []
    for number, tensor in enumerate(tensors):
        graph = impl.new_graph()
        with impl.capture(graph):
            tensor.add_(number + 1.0)
        graphs.append(graph)
    for number, graph in enumerate(graphs):
        replay(impl, graph, times=number + 1)
    for number, tensor in enumerate(tensors):
        expect_equal(impl, tensor, (number + 1.0) ** 2, "each graph holds the body of its own block only")


@pytest.mark.parametrize("streams", ["own", "given"])
@requirement("context-manager.consecutive")
def test_blocks_made_before_any_is_entered(impl: Adapter, streams: str) -> None:
    """Blocks that were made together and are entered in another order have nothing to do with each other."""
    tensors = [impl.full(37, 0.0) for _ in range(3)]
    graphs = [impl.new_graph() for _ in tensors]
    targets = [impl.new_stream() if streams == "given" else None for _ in tensors]
    blocks = [impl.capture(graph, stream=stream) for graph, stream in zip(graphs, targets, strict=True)]
    for place in (1, 2, 0):
        expect_no_raise("a block that was made before another one can be entered after it", blocks[place].__enter__)
        try:
            current = impl.current_stream()
            tensors[place].add_(place + 1.0)
        finally:
            blocks[place].__exit__(None, None, None)
        if streams == "given":
            expect(current == targets[place], "each block has the stream it was given", f"{current!r}")
    for place, graph in enumerate(graphs):
        replay(impl, graph, times=place + 1)
    for place, tensor in enumerate(tensors):
        expect_equal(impl, tensor, (place + 1.0) ** 2, "each graph holds the body of its own block only")


@requirement("context-manager.consecutive")
def test_one_graph_again(impl: Adapter) -> None:
    """After reset the same graph goes through the block again."""
    x = impl.full(37, 0.0)
    graph = impl.new_graph()
    for amount in (1.0, 10.0, 100.0):
        capture_into(impl, graph, partial(x.add_, amount))
        replay(impl, graph, times=2)
        graph.reset()
    expect_equal(impl, x, 222.0, "a graph that was reset holds the body of its latest block only")


@requirement("context-manager.consecutive")
def test_outputs_of_earlier_blocks_are_kept(impl: Adapter) -> None:
    """Outputs of one block are not given to the next one while they are alive."""
    x = impl.tensor(torch.arange(37.0))
    pairs = [captured(impl, partial(torch.mul, x, number)) for number in range(1, 5)]
    for graph, _ in pairs:
        replay(impl, graph)
    for number, (_, output) in enumerate(pairs, 1):
        expect_equal(impl, output, torch.arange(37.0) * number, "outputs of different captures do not share memory")


@requirement("context-manager.as-value")
def test_bound_value(impl: Adapter, observe: Callable[[str, Any], None]) -> None:
    """Records what the with statement binds."""
    x = impl.full(37, 0.0)
    graph = impl.new_graph()
    if impl.dialect == "accelerator":
        with impl.stream(impl.new_stream()), graph as value:
            x.add_(1.0)
    else:
        with impl.capture(graph) as value:
            x.add_(1.0)
    observe("type of the bound value", type(value).__name__)
    observe("is the graph", value is graph)
