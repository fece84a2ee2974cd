"""What counts is the storage: kept by anything it is alive, resized or replaced it is dead."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from conformance.adapter import Adapter
from conformance.markers import requirement
from suites.liveness.programs import add_one
from suites.support.liveness import checked, expect_alive, expect_dead
from suites.support.programs import POISON, SIZE


def _saved_for_backward(impl: Adapter, tensor: torch.Tensor) -> object:
    factor = impl.full(SIZE, 1.0).requires_grad_()
    return factor * tensor


# Each takes the input and returns the only thing that will keep its storage.
KEEPERS: dict[str, Callable[[Adapter, torch.Tensor], object]] = {
    "detached-alias": lambda _impl, tensor: tensor.detach(),
    "smaller-view": lambda _impl, tensor: tensor[3:4],
    "reinterpreted": lambda _impl, tensor: tensor.view(torch.int32),
    "storage-object": lambda _impl, tensor: tensor.untyped_storage(),
    "saved-for-backward": _saved_for_backward,
}


@requirement("liveness.kept-storage")
@pytest.mark.parametrize("keeper", KEEPERS)
def test_a_kept_storage_is_alive(impl: Adapter, keeper: str) -> None:
    """The tensor that was used is deleted, its storage is not."""
    inputs = [impl.full(SIZE, 4.0)]
    graph, out = add_one(impl, inputs)
    owner = KEEPERS[keeper](impl, inputs[0])
    inputs.clear()
    for _ in range(3):
        expect_alive(impl, graph, out, 5.0, f"the input's storage is kept by: {keeper}")
    del owner
    expect_dead(graph, f"the input's storage was kept by: {keeper}, and that is gone")


@requirement("liveness.kept-storage")
@pytest.mark.parametrize("part", ["view", "base"])
def test_deleting_the_view_or_the_base(impl: Adapter, part: str) -> None:
    """The captured work used a view; one of view and base is enough to keep the storage."""
    inputs = [impl.full((2, SIZE), 4.0)]
    inputs.append(inputs[0][1])
    out = impl.full(SIZE, POISON)
    graph, _ = checked(impl, lambda: out.copy_(inputs[1] + 1))
    survivor = inputs[0] if part == "view" else inputs[1]
    inputs.clear()
    survivor.fill_(6.0)
    for _ in range(2):
        expect_alive(impl, graph, out, 7.0, f"the {part} was deleted, the other one lives")


@requirement("liveness.view-and-base")
@pytest.mark.parametrize("part", ["view", "base"])
def test_deleting_both_the_view_and_the_base(impl: Adapter, part: str) -> None:
    """Both go, and with them the storage, whichever of them the captured work used."""
    inputs = [impl.full((2, SIZE), 4.0)]
    inputs.append(inputs[0][1])
    out = impl.full(SIZE, POISON)
    graph, _ = checked(impl, lambda: out.copy_(inputs[1] + 1 if part == "view" else inputs[0][0] + 1))
    expect_alive(impl, graph, out, 5.0, "view and base live")
    inputs.clear()
    expect_dead(graph, "view and base were deleted")


@requirement("liveness.kept-storage")
def test_a_replaced_storage_that_is_kept_is_alive(impl: Adapter) -> None:
    """The tensor moved to another storage, but the one that the graph reads still has an owner."""
    inputs = [impl.full(SIZE, 4.0)]
    graph, out = add_one(impl, inputs)
    owner = inputs[0].detach()
    inputs[0].data = impl.full(SIZE, 50.0)
    owner.fill_(8.0)
    for _ in range(2):
        expect_alive(impl, graph, out, 9.0, "the tensor has another storage, and an alias keeps the one in use")
    del owner
    expect_dead(graph, "the tensor has another storage, and the one in use is gone")


@requirement("liveness.resized-storage")
@pytest.mark.parametrize("size", [0, 1 << 20], ids=["to-nothing", "to-more"])
def test_a_resized_storage_is_dead(impl: Adapter, size: int) -> None:
    """The storage object lives on, its memory does not."""
    inputs = [impl.full(SIZE, 4.0)]
    graph, out = add_one(impl, inputs)
    expect_alive(impl, graph, out, 5.0, "the storage has not been touched")
    try:
        inputs[0].untyped_storage().resize_(size)
    except RuntimeError:
        # A device may refuse to resize storages; then the input has lost nothing.
        expect_alive(impl, graph, out, 5.0, "the device refused to resize the input's storage")
    else:
        expect_dead(graph, f"the input's storage was resized to {size} bytes")


def _data(impl: Adapter, tensor: torch.Tensor) -> None:
    tensor.data = impl.full(SIZE, 50.0)


def _set(impl: Adapter, tensor: torch.Tensor) -> None:
    tensor.set_(impl.full(SIZE, 50.0).untyped_storage())


def _emptied(_impl: Adapter, tensor: torch.Tensor) -> None:
    tensor.set_()  # type: ignore[call-overload]  # which torch's stubs do not know


REPLACEMENTS: dict[str, Callable[[Adapter, torch.Tensor], None]] = {
    "data": _data,
    "set": _set,
    "set-to-nothing": _emptied,
}


@requirement("liveness.replaced-storage")
@pytest.mark.parametrize("how", REPLACEMENTS)
def test_a_replaced_storage_is_dead(impl: Adapter, how: str) -> None:
    """The tensor lives on with memory that the graph knows nothing of."""
    inputs = [impl.full(SIZE, 4.0)]
    graph, out = add_one(impl, inputs)
    expect_alive(impl, graph, out, 5.0, "the storage has not been replaced")
    REPLACEMENTS[how](impl, inputs[0])
    expect_dead(graph, f"the input was given other memory ({how})")


def _indexed(tensor: torch.Tensor, value: float) -> None:
    tensor[:] = value


def _added(tensor: torch.Tensor, value: float) -> None:
    tensor.zero_().add_(value)


REFILLS: dict[str, Callable[[Adapter, torch.Tensor, float], object]] = {
    "fill": lambda _impl, tensor, value: tensor.fill_(value),
    "copy": lambda impl, tensor, value: tensor.copy_(impl.full(SIZE, value)),
    "index": lambda _impl, tensor, value: _indexed(tensor, value),
    "add": lambda _impl, tensor, value: _added(tensor, value),
    "data-copy": lambda impl, tensor, value: tensor.data.copy_(impl.full(SIZE, value)),
}


@requirement("liveness.refilled-inputs")
@pytest.mark.parametrize("how", REFILLS)
def test_refilled_inputs_are_alive(impl: Adapter, how: str) -> None:
    """New values in the same memory are what replays are for."""
    inputs = [impl.full(SIZE, 4.0)]
    graph, out = add_one(impl, inputs)
    for value in (7.0, -3.0, 0.5):
        REFILLS[how](impl, inputs[0], value)
        expect_alive(impl, graph, out, value + 1, f"the input was refilled ({how})")


@requirement("liveness.other-metadata")
@pytest.mark.parametrize("how", ["shrunk", "unsqueezed", "requires-grad"])
def test_inputs_with_other_metadata_are_alive(impl: Adapter, how: str) -> None:
    """The shape changes in place; memory and values do not."""
    inputs = [impl.full(SIZE, 4.0)]
    graph, out = add_one(impl, inputs)
    if how == "shrunk":
        inputs[0].resize_(5)
    elif how == "unsqueezed":
        inputs[0].unsqueeze_(0)
    else:
        inputs[0].requires_grad_()
    for _ in range(2):
        expect_alive(impl, graph, out, 5.0, f"the input's metadata changed in place ({how})")
