"""What the reference says of a dead input: where the capture used it, and where it died."""

from __future__ import annotations

import weakref

import pytest
import torch

import reference_impl as ref


def captured_use(x: torch.Tensor) -> ref.CUDAGraph:
    graph = ref.CUDAGraph()
    with ref.graph(graph, check_input_liveness=True):
        x.add_(1)  # the use
    return graph


def let_go(inputs: list[torch.Tensor]) -> None:
    del inputs[:]  # the end


def message(graph: ref.CUDAGraph) -> str:
    with pytest.raises(RuntimeError, match="dead tensor") as caught:
        graph.replay()
    return str(caught.value)


def test_where_it_was_used_and_where_it_died() -> None:
    inputs = [ref.tensor([1.0, 2.0])]
    graph = captured_use(inputs[0])
    let_go(inputs)
    text = message(graph)
    died, used = text.index("died at"), text.index("used at")
    assert died < text.index("in let_go") < text.index("del inputs[:]  # the end") < used
    assert used < text.index("in captured_use") < text.index("x.add_(1)  # the use")
    assert text.count("__torch_dispatch__") == 0


def test_each_of_two() -> None:
    one, other = ref.tensor([1.0]), torch.ones(3)
    graph = ref.CUDAGraph()
    with ref.graph(graph, check_input_liveness=True):
        one + other
    del one
    del other
    text = message(graph)
    assert text.count("died at") == text.count("used at") == 2
    assert text.index("del one") < text.index("del other")


def test_an_input_that_has_other_memory() -> None:
    x = torch.ones(3)
    graph = captured_use(x)
    x.resize_(1000)
    assert "lives, and has other memory now" in message(graph)


def test_the_note_keeps_nothing_alive() -> None:
    class Thing:
        """Something in the frame that uses the input."""

    dead = []

    def capture() -> tuple[ref.CUDAGraph, torch.Tensor]:
        thing, x = Thing(), torch.ones(3)
        weakref.finalize(thing, dead.append, True)
        return captured_use(x), x

    graph, x = capture()
    assert dead == [True]
    graph.replay()
    assert x.tolist() == [2.0] * 3
