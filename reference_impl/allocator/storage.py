"""Torch storages over the allocator's memory."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from typing import cast

import torch

from reference_impl.allocator import errors
from reference_impl.allocator.core import CachingAllocator
from reference_impl.allocator.memory import ALLOCATED, Block
from reference_impl.pool_ids import PoolId

_CPU = torch.device("cpu")
# Torch has its own since 2.5.
OutOfMemoryError: type[RuntimeError] = getattr(torch, "OutOfMemoryError", errors.OutOfMemoryError)


class _Lease(weakref.ref[memoryview]):
    """Watches the view under a storage, and frees its block when the view dies.

    A `weakref.finalize` would do, but this happens at every tensor, and a bare reference is much cheaper.
    """

    __slots__ = ("block", "reclaim")

    block: Block
    reclaim: Callable[[Block], bool]

    @staticmethod
    def ended(
        lease: weakref.ref[memoryview],
        # Bound here because globals may be gone by the time the last tensors die.
        is_finalizing: Callable[[], bool] = sys.is_finalizing,
    ) -> None:
        """The storage is gone.  At the end of the process nobody needs its memory any more."""
        if not is_finalizing() and isinstance(lease, _Lease):
            lease.block.lease = None
            lease.reclaim(lease.block)


class TensorAllocator(CachingAllocator):
    """The caching allocator, raising `torch.OutOfMemoryError`."""

    out_of_memory = OutOfMemoryError

    def storage(self, nbytes: int, stream: int, pool: PoolId) -> torch.UntypedStorage:
        """A storage of `nbytes` poisoned bytes, which frees them when it dies."""
        return self.tensor_storage(self.allocate(nbytes, stream, pool))

    def tensor_storage(self, block: Block) -> torch.UntypedStorage:
        """A storage of the `block.requested` bytes of `block`, which it owns.

        The death of the storage frees the block, on whichever thread that happens.  A block has at most one owning
        storage.

        Raises:
            RuntimeError: the block is freed, or has an owning storage already.
        """
        if block.address == 0:
            return torch.empty(0, dtype=torch.uint8).untyped_storage()
        if block.state is not ALLOCATED or block.lease is not None:
            raise RuntimeError(
                "tensor_storage: the block is freed or has an owning storage already; allocate a "
                "block for each storage, and use alias() to look at the same bytes",
            )
        start = block.address - block.segment.address
        view = block.segment.memory[start : start + block.requested]
        block.lease = lease = _Lease(view, _Lease.ended)
        lease.block = block
        lease.reclaim = self.reclaim
        # The storage holds the view, and the view holds the mapping.
        return torch.frombuffer(view, dtype=torch.uint8).untyped_storage()


def alias(address: int, nbytes: int) -> torch.UntypedStorage:
    """A storage of `nbytes` bytes at `address` that owns nothing.

    Hold ``allocator.segment_of(address)`` for as long as it is used.
    """
    storage = torch._C._construct_storage_from_data_pointer(address, _CPU, nbytes)
    # Torch's stub says Storage, a name from before the untyped ones.
    return cast("torch.UntypedStorage", storage)
