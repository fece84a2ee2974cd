"""The check and the graph around it: what it keeps alive, what a refusal changes, when it ends."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_no_raise, expect_raises
from conformance.markers import requirement
from suites.liveness.programs import add_one
from suites.support.captures import capture_into, captured, replay
from suites.support.liveness import DEAD, checked, expect_alive, expect_dead
from suites.support.programs import POISON, SIZE
from suites.support.tokens import equal


@requirement("liveness.keeps-nothing-alive")
@pytest.mark.parametrize("replays", [0, 2], ids=["never-replayed", "replayed"])
def test_the_check_keeps_no_input(impl: Adapter, replays: int) -> None:
    """Tensor and storage are freed when the test lets them go."""
    inputs = [impl.full(SIZE, 1.0)]
    tensor, storage = weakref.ref(inputs[0]), weakref.ref(inputs[0].untyped_storage())
    graph, _ = add_one(impl, inputs)
    replay(impl, graph, replays)
    inputs.clear()
    gc.collect(1)
    promise = "the liveness check keeps no input alive"
    expect(tensor() is None, promise, "the tensor object is still there after its last use was dropped")
    expect(storage() is None, promise, "the storage is still there after its last tensor was dropped")
    expect_dead(graph, "the input was deleted")


@requirement("liveness.keeps-nothing-alive")
def test_a_refusal_keeps_nothing_alive(impl: Adapter) -> None:
    """A replay refused for one input does not hold on to the others."""
    inputs = [impl.full(SIZE, 1.0), impl.full(SIZE, 2.0)]
    out = impl.full(SIZE, POISON)
    graph, _ = checked(impl, lambda: out.copy_(inputs[0] + inputs[1]))
    storage = weakref.ref(inputs[1].untyped_storage())
    inputs.pop(0)
    expect_dead(graph, "one of two inputs was deleted")
    inputs.clear()
    gc.collect(1)
    expect(storage() is None, "a refused replay keeps no input alive", "the other input's storage is still there")


@requirement("liveness.keeps-nothing-alive", "liveness.frees-input-memory")
def test_a_dead_inputs_memory_is_given_back(impl: Adapter) -> None:
    """Deleting a checked input frees as many bytes as deleting one that no graph knows."""
    size = 30011

    def freed(tensors: list[torch.Tensor]) -> int:
        gc.collect()
        impl.synchronize()
        before = impl.memory_allocated()
        tensors.clear()
        gc.collect(1)
        return before - impl.memory_allocated()

    bystanders = [impl.full(size, 1.0)]
    expected = freed(bystanders)
    inputs, out = [impl.full(size, 1.0)], impl.full(size, POISON)
    graph, _ = checked(impl, lambda: out.copy_(inputs[0]))
    replay(impl, graph)
    freed_bytes = freed(inputs)
    expect(
        freed_bytes == expected,
        "the memory of a deleted input is given back although a graph checks it",
        f"{freed_bytes} bytes were freed, and {expected} for a tensor of the same size that no graph uses",
    )
    graph.reset()


@requirement("liveness.refusal-is-harmless")
def test_a_refused_replay_changes_nothing(impl: Adapter) -> None:
    """Outputs, pool, streams and other graphs are as they were."""
    promise = "a replay refused by the liveness check changes nothing"
    source, inputs = impl.full(SIZE, 1.0), [impl.full(SIZE, 2.0)]
    graph, out = checked(impl, lambda: source + inputs[0])
    other, other_out = captured(impl, lambda: source * 5)
    replay(impl, graph)
    token = graph.pool()
    stream = impl.current_stream()
    inputs.clear()
    for value in (3.0, -4.0):
        expect_raises(DEAD, graph.replay)
        expect_equal(impl, out, 3.0, promise)
        expect(equal(graph.pool(), token) is not False, promise, "the graph names another pool")
        expect(impl.current_stream() == stream, promise, "another stream is current")
        expect(not impl.is_current_stream_capturing(), promise, "the current stream is capturing")
        source.fill_(value)
        other_out.fill_(POISON)
        expect_no_raise("other graphs replay after a refused replay", lambda: replay(impl, other))
        expect_equal(impl, other_out, 5 * value, "other graphs replay right after a refused replay")
    again, again_out = captured(impl, lambda: source + 1)
    replay(impl, again)
    expect_equal(impl, again_out, -3.0, "captures work after a refused replay")


@requirement("liveness.cleared-by-reset")
@pytest.mark.parametrize("liveness", [None, False, True], ids=["default", "off", "on"])
def test_reset_ends_the_check(impl: Adapter, *, liveness: bool | None) -> None:
    """A dead input of the old capture does not concern the new one."""
    inputs = [impl.full(SIZE, 1.0)]
    graph, out = add_one(impl, inputs)
    inputs.clear()
    expect_dead(graph, "the input was deleted")
    graph.reset()
    fresh = [impl.full(SIZE, 7.0)]
    capture_into(impl, graph, lambda: out.copy_(fresh[0] * 2), liveness=liveness)
    for value in (3.0, -5.0, 0.5):
        fresh[0].fill_(value)
        expect_alive(impl, graph, out, 2 * value, "captured again after reset(), the old capture's input is dead")


@requirement("liveness.cleared-by-reset")
def test_a_recapture_is_checked_for_its_own_inputs(impl: Adapter) -> None:
    """First without the check, then with it: the second capture's input is watched."""
    old, new = [impl.full(SIZE, 1.0)], [impl.full(SIZE, 7.0)]
    out = impl.full(SIZE, POISON)
    graph, _ = captured(impl, lambda: out.copy_(old[0] + 1))
    replay(impl, graph)
    graph.reset()
    capture_into(impl, graph, lambda: out.copy_(new[0] + 1), liveness=True)
    old.clear()
    expect_alive(impl, graph, out, 8.0, "captured again with the check, the old capture's input is dead")
    new.clear()
    expect_dead(graph, "captured again with the check, the input was deleted")


@requirement("liveness.cleared-by-reset")
def test_the_check_is_not_inherited(impl: Adapter) -> None:
    """A recapture without the check is not checked, although the capture before it was."""
    inputs, out = [impl.full(SIZE, 1.0)], impl.full(SIZE, POISON)
    graph, _ = checked(impl, lambda: out.copy_(inputs[0] + 1))
    replay(impl, graph)
    graph.reset()
    source, later_inputs = impl.full(SIZE, 2.0), [impl.full(SIZE, 0.0)]

    def body() -> None:
        # Only the shape of this input is used, so that no replay reads its memory once it is dead.
        out.copy_(torch.full_like(later_inputs[0], 3.0) + source)

    capture_into(impl, graph, body)
    later_inputs.clear()
    inputs.clear()
    expect_alive(impl, graph, out, 5.0, "captured again without the check")


@requirement("liveness.deferred-instantiation", "liveness.instantiate-unaffected")
@pytest.mark.parametrize("instantiated", [False, True], ids=["on-first-replay", "instantiated"])
def test_the_check_with_a_kept_graph(impl: Adapter, *, instantiated: bool) -> None:
    """keep_graph=True: replays with living inputs work, and none does with a dead one."""
    inputs, out = [impl.full(SIZE, 1.0)], impl.full(SIZE, POISON)
    graph, _ = checked(impl, lambda: out.copy_(inputs[0] + 1), keep_graph=True)
    if instantiated:
        graph.instantiate()
        expect_alive(impl, graph, out, 2.0, "keep_graph=True")
    inputs.clear()
    expect_dead(graph, "keep_graph=True, the input was deleted", times=3)


@requirement("liveness.instantiate-unaffected", "liveness.deferred-instantiation")
def test_instantiate_does_not_look_at_the_inputs(impl: Adapter) -> None:
    """instantiate() works with a dead input, and revives nothing."""
    inputs, out = [impl.full(SIZE, 1.0)], impl.full(SIZE, POISON)
    graph, _ = checked(impl, lambda: out.copy_(inputs[0] + 1), keep_graph=True)
    inputs.clear()
    for _ in range(2):
        expect_no_raise("instantiate() works whether or not the inputs live", graph.instantiate)
        expect_dead(graph, "keep_graph=True, instantiated after the input was deleted")
