"""What may die without an alarm, and graphs without the check."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

from conformance.adapter import Adapter
from conformance.checks import expect_equal, expect_no_raise
from conformance.markers import requirement
from suites.liveness.programs import add_one
from suites.support.captures import captured, replay
from suites.support.liveness import ALIVE, checked, expect_alive
from suites.support.outcomes import caught
from suites.support.programs import POISON, SIZE
from suites.support.tokens import equal


def _refused(graph: Any) -> bool:
    return caught(graph.replay) is not None


@requirement("liveness.own-tensors")
def test_intermediates_that_died_in_the_capture(impl: Adapter) -> None:
    """Temporaries of operators and of factories, some of them in memory of others."""
    source, out = impl.full(SIZE, 1.0), impl.full(SIZE, POISON)

    def body() -> None:
        value = source + 1
        for _ in range(5):
            value = value * 2
            value = value - torch.ones(SIZE, device=impl.device)
        zeros = torch.zeros_like(value)
        torch.add(value, 1, out=zeros)
        out.copy_(zeros[torch.arange(SIZE, device=impl.device)])

    graph, _ = checked(impl, body)
    for value in (3.0, -7.0, 0.5):
        source.fill_(value)
        expect_alive(impl, graph, out, 32 * (value + 1) - 30, "intermediates died inside the capture")


@requirement("liveness.own-tensors")
def test_literals_of_the_capture(impl: Adapter) -> None:
    """A scalar tensor that the body makes on the host takes part by its value, and dies with the body."""
    source, out = impl.full(SIZE, 1.0), impl.full(SIZE, POISON)
    graph, _ = checked(impl, lambda: out.copy_(source * torch.tensor(3.0) + torch.tensor(-2.0)))
    for value in (3.0, -7.0, 0.5):
        source.fill_(value)
        expect_alive(impl, graph, out, 3 * value - 2, "literals died inside the capture")


@requirement("liveness.own-tensors")
def test_outputs_dropped_after_the_capture(impl: Adapter) -> None:
    """Outputs that were read and written inside the capture go, one by one, between replays."""
    source, out = impl.full(SIZE, 1.0), impl.full(SIZE, POISON)

    def body() -> list[torch.Tensor]:
        outputs = [source + 1]
        outputs.append(outputs[0] * 2)
        outputs.append(outputs[1].add_(outputs[0])[3:])
        out.copy_(outputs[1])
        return outputs

    graph, outputs = checked(impl, body)
    while outputs:
        outputs.pop()
        source.fill_(len(outputs))
        expect_alive(impl, graph, out, 3.0 * (len(outputs) + 1), "an output was dropped after the capture")


@requirement("liveness.unused-tensors")
def test_tensors_that_were_not_used(impl: Adapter) -> None:
    """Tensors made before, during and after the capture die; none of them was an input."""
    inputs = [impl.full(SIZE, 4.0)]
    bystanders = [impl.full(SIZE, float(value)) for value in range(4)]
    results = [tensor * 2 for tensor in bystanders]
    graph, out = add_one(impl, inputs)
    expect_alive(impl, graph, out, 5.0, "tensors that the graph does not use live")
    bystanders.clear()
    results.clear()
    for _ in range(3):
        temporary = impl.full(SIZE, 9.0) + 1
        del temporary
        expect_alive(impl, graph, out, 5.0, "tensors that the graph does not use were deleted")


@requirement("liveness.shared-pool", "liveness.kept-storage")
@pytest.mark.parametrize("joined_by", ["handle", "graph"])
def test_dropped_outputs_of_a_graph_that_shares_the_pool(impl: Adapter, joined_by: str) -> None:
    """The reader keeps the pool, and so the memory that it reads.

    A token is a hint: the check may refuse a graph that kept to a pool of its own, as that may not keep the memory.
    """
    source, out = impl.full(SIZE, 1.0), impl.full(SIZE, POISON)
    pool = impl.graph_pool_handle() if joined_by == "handle" else None
    first, outputs = captured(impl, lambda: [source * 2], pool=pool)
    second, _ = checked(impl, lambda: out.copy_(outputs[0] + 1), pool=first.pool() if pool is None else pool)
    outputs.clear()
    if equal(second.pool(), first.pool()) is not True and _refused(second):
        return
    for value in (5.0, -3.0, 0.5):
        source.fill_(value)
        replay(impl, first)
        expect_alive(impl, second, out, 2 * value + 1, "an output of a graph that shares the pool was dropped")


@requirement("liveness.other-pool")
def test_dropped_outputs_of_a_graph_with_another_pool(impl: Adapter, observe: Callable[[str, Any], None]) -> None:
    """Record whether the reader is refused; the writer lives, so the memory is still reserved."""
    source, out = impl.full(SIZE, 1.0), impl.full(SIZE, POISON)
    first, outputs = captured(impl, lambda: [source * 2])
    second, _ = checked(impl, lambda: out.copy_(outputs[0] + 1))
    outputs.clear()
    replay(impl, first)
    observe("refused", _refused(second))
    impl.synchronize()


@requirement("liveness.no-elements")
def test_a_deleted_input_without_elements(impl: Adapter, observe: Callable[[str, Any], None]) -> None:
    """Record whether the replay is refused."""
    inputs, out = [impl.full((0, 5), 1.0)], impl.full((3, 5), POISON)
    one = impl.full((3, 5), 1.0)
    graph, _ = checked(impl, lambda: out.copy_(torch.cat([one, inputs[0]])))
    inputs.clear()
    observe("refused", _refused(graph))
    impl.synchronize()


@requirement("liveness.empty-capture")
def test_an_empty_capture(impl: Adapter) -> None:
    """Nothing captured, nothing to die; a warning about the empty graph is in order."""
    bystander = impl.full(SIZE, 4.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph, _ = expect_no_raise("an empty capture works with the check on", lambda: checked(impl, lambda: None))
    del bystander
    witness = impl.full(SIZE, POISON)
    for _ in range(3):
        expect_no_raise("an empty graph replays with the check on", graph.replay)
    expect_equal(impl, witness, POISON, "an empty graph's replay does nothing")


@requirement("liveness.living-inputs")
def test_many_replays_with_the_check(impl: Adapter) -> None:
    """Fifty replays that feed each other, without a host read between them."""
    inputs = [impl.full(SIZE, 1.0), impl.full(SIZE, 2.0)]
    graph, _ = checked(impl, lambda: inputs[0].add_(inputs[1]))
    inputs[0].fill_(0.0)
    for _ in range(50):
        expect_no_raise(ALIVE, graph.replay)
    expect_equal(impl, inputs[0], 100.0, ALIVE)


@requirement("liveness.off-by-default")
@pytest.mark.parametrize("liveness", [None, False], ids=["default", "false"])
def test_without_the_check_replay_does_not_look(impl: Adapter, *, liveness: bool | None) -> None:
    """An input dies of which the graph uses the shape alone, so that no replay reads its memory: none is refused."""
    inputs, source, out = [impl.full(SIZE, 1.0)], impl.full(SIZE, 2.0), impl.full(SIZE, POISON)
    graph, _ = captured(impl, lambda: out.copy_(torch.full_like(inputs[0], 3.0) + source), liveness=liveness)
    promise = "without the liveness check, replay does not look at what became of the inputs"
    for value in (2.0, -4.0, 7.0):
        out.fill_(POISON)
        source.fill_(value)
        expect_no_raise(promise, graph.replay)
        expect_equal(impl, out, value + 3, promise)
        inputs.clear()
