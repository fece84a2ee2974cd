"""Which tensors from outside a capture reads or writes, and whether they still exist.

Implements ``check_input_liveness`` of torch.cuda.CUDAGraph.capture_begin.
"""

from __future__ import annotations

import bisect
import dataclasses
import weakref
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch._ops import OpOverload
from torch.utils import _pytree as pytree

from reference_impl.devices import operators
from reference_impl.devices.mode_stack import Mode
from reference_impl.devices.protocol import Device, current_stream_capturing
from reference_impl.graphs.places import Place

_SHOWN = 5


@dataclasses.dataclass(frozen=True, slots=True)
class _Input:
    """A storage that the capture found in use, and where."""

    storage: weakref.ref[torch.UntypedStorage]
    address: int
    nbytes: int
    dtype: torch.dtype
    shape: tuple[int, ...]
    used_by: str
    used_at: Place
    #: Where it died, once it did.
    died_at: list[Place]

    def dead(self) -> bool:
        storage = self.storage()
        return storage is None or storage.data_ptr() != self.address

    def __str__(self) -> str:
        where = f"{self.nbytes} bytes at {self.address:#x}"
        died = f"died at{self.died_at[0]}" if self.died_at else "lives, and has other memory now"
        return (
            f"{self.dtype} tensor of shape {self.shape}, {where}, first used by {self.used_by}; it {died}\n"
            f"    used at{self.used_at}"
        )


class LivenessTracker(Mode):
    """Watches a capture's operators for tensors that come from outside; holds none of them.

    Args:
        device: knows what its kernels can reach, and which memory belongs to a pool.
    """

    def __init__(self, device: Device) -> None:
        super().__init__()
        self._device = device
        self._inputs: dict[int, _Input] = {}
        self._made_inside: set[int] = set()

    def __torch_dispatch__(
        self, func: OpOverload, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if not current_stream_capturing(self._device):
            return func(*args, **kwargs)
        traits = operators.traits(func)
        if traits.literal:
            self._note_made_inside(args)
        if traits.view:
            return func(*args, **kwargs)  # no kernel reads anything yet
        for tensor in operators.tensors_in((*args, *kwargs.values())):
            self._note_input(tensor, traits.name)
        result = func(*args, **kwargs)
        self._note_made_inside(result)
        return result

    def _note_input(self, tensor: torch.Tensor, operator: str) -> None:
        if tensor.layout is not torch.strided or not self._device.tracks(tensor):
            return
        storage = tensor.untyped_storage()
        address = storage.data_ptr()
        if address == 0 or address in self._made_inside or address in self._inputs:
            return
        died_at: list[Place] = []
        watched = weakref.ref(storage, lambda _: died_at.append(Place.of_caller(1)))
        facts = (address, storage.nbytes(), tensor.dtype, tuple(tensor.shape), operator)
        self._inputs[address] = _Input(watched, *facts, Place.of_caller(2), died_at)

    def _note_made_inside(self, made: Any) -> None:
        for leaf in pytree.tree_leaves(made):
            if isinstance(leaf, torch.Tensor) and leaf.layout is torch.strided and self._device.tracks(leaf):
                address = leaf.untyped_storage().data_ptr()
                if address not in self._inputs:
                    self._made_inside.add(address)

    def check(self, pools: Iterable[tuple[int, int]]) -> None:
        """Raise unless every tracked input is alive.

        Args:
            pools: the graph's own pools; their memory stays with the graph, whatever became of the tensors in it.

        Raises:
            RuntimeError: names each dead input (the first five in full).
        """
        # As tight as it gets: with thousands of inputs this is what a replay costs.
        for address, entry in self._inputs.items():
            storage = entry.storage()
            if storage is None or storage.data_ptr() != address:
                break
        else:
            return
        ranges = self._device.pool_ranges(pools)
        dead = []
        for entry in [each for each in self._inputs.values() if each.dead()]:
            if _within(entry.address, ranges):
                del self._inputs[entry.address]
            else:
                dead.append(entry)
        if not dead:
            return
        shown = "".join(f"\n  #{number}: {entry}" for number, entry in enumerate(dead[:_SHOWN], 1))
        more = f"\n  and {len(dead) - _SHOWN} more" if len(dead) > _SHOWN else ""
        raise RuntimeError(
            f"replay(): {len(dead)} dead tensor(s) among the graph's inputs: their memory was freed or moved after the "
            f"capture, so the replay would touch whatever is there now. Keep the inputs alive as long as the graph is "
            f"replayed, or reset() and capture again.{shown}{more}"
        )


def _within(address: int, ranges: Sequence[tuple[int, int]]) -> bool:
    index = bisect.bisect_right(ranges, (address, 1 << 64)) - 1
    return index >= 0 and ranges[index][0] <= address < ranges[index][1]
