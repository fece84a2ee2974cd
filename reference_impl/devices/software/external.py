"""Memory that a captured graph reaches but does not own.

A graph remembers addresses, not tensors: it must neither keep an input alive nor crash when the input has died.  On a
GPU, dead memory is garbage; here it is a buffer of poison, put in its place before the first launch that would have
touched it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from reference_impl.allocator.storage import alias as storage_at
from reference_impl.poison import POISON

#: A storage from a weak pointer to it, or ``None`` if it is dead.
_upgrade: Callable[[int], torch.UntypedStorage | None] = torch.UntypedStorage._new_with_weak_ptr


class ExternalMemory:
    """One storage of the user's, watched but not held.

    Args:
        storage: the storage as it is at capture; its address and size are what the graph remembers.
    """

    def __init__(self, storage: torch.UntypedStorage) -> None:
        self.address = storage.data_ptr()
        self.nbytes = storage.nbytes()
        self._watched = StorageWeakRef(storage)
        self._view = storage_at(self.address, self.nbytes)
        self._aliases: list[torch.Tensor] = []
        self._literal: torch.UntypedStorage | None = None
        self._poison: torch.UntypedStorage | None = None

    def hold(self, storage: torch.UntypedStorage) -> None:
        """Keep the storage alive: it holds a literal of the program, not an input."""
        self._literal = storage

    def alias(self, tensor: torch.Tensor) -> torch.Tensor:
        """A tensor over the same bytes that keeps nothing of the user's alive."""
        alias = tensor_over(self._view, tensor.dtype, tensor.storage_offset(), tensor.shape, tensor.stride())
        alias = with_bits(alias, conjugate=tensor.is_conj(), negative=tensor.is_neg())
        self._aliases.append(alias)
        return alias

    @property
    def retired(self) -> bool:
        """Whether the storage was found dead, and poison put in its place."""
        return self._poison is not None

    @property
    def alive(self) -> bool:
        """Whether the storage still exists at its address."""
        storage = _upgrade(self._watched.cdata) if self._poison is None else None
        return storage is not None and storage.data_ptr() == self.address

    def acquire(self) -> torch.UntypedStorage:
        """What a launch has to hold while it runs: the storage, or the poison that stands for it once it is dead."""
        if self._poison is not None:
            return self._poison
        storage = _upgrade(self._watched.cdata)
        # A storage that was resized lives on elsewhere: the bytes at the captured address are gone.
        return storage if storage is not None and storage.data_ptr() == self.address else self._retire()

    def _retire(self) -> torch.UntypedStorage:
        self._poison = torch.full((self.nbytes,), POISON, dtype=torch.uint8).untyped_storage()
        for alias in self._aliases:
            alias.set_(self._poison, alias.storage_offset(), alias.size(), alias.stride())
        return self._poison


def tensor_over(
    storage: torch.UntypedStorage, dtype: torch.dtype, offset: Any, size: Sequence[int], stride: Sequence[int]
) -> torch.Tensor:
    """A plain tensor over `storage`; `offset` and `stride` count elements."""
    if torch.is_inference_mode_enabled():  # hardly ever, and leaving it takes longer than the rest
        with torch.inference_mode(False):
            return tensor_over(storage, dtype, offset, size, stride)
    return _prototype(dtype).new().set_(storage, offset, size, stride)


def with_bits(tensor: torch.Tensor, *, conjugate: bool, negative: bool) -> torch.Tensor:
    """The tensor with its lazy conjugate and negative bits as they are wanted."""
    if conjugate:
        tensor = tensor.conj()
    return torch._neg_view(tensor) if negative else tensor


@functools.cache
def _prototype(dtype: torch.dtype) -> torch.Tensor:
    """A tensor of which `Tensor.new` makes others, sooner than `torch.empty` would."""
    return torch.empty(0, dtype=dtype, device="cpu")
