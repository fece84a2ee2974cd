"""The memory of the software device: its allocator, the segments as kernels hold them, and what poisons them."""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections import deque
from collections.abc import Iterator

import torch

from reference_impl import runtime
from reference_impl.allocator import DEFAULT_POOL, Segment, poison_now
from reference_impl.allocator.storage import TensorAllocator, alias
from reference_impl.devices.software.external import tensor_over, with_bits
from reference_impl.devices.software.kernels import OperatorKernel
from reference_impl.errors import check


class SegmentView:
    """A segment of the allocator as kernels hold it, with a storage over all of it.

    Attributes:
        segment: the segment.
        retired: whether the allocator gave it back to the system.
    """

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self.retired = False
        self._storage = alias(segment.address, segment.size)
        self._wholes: dict[torch.dtype, torch.Tensor] = {}

    def alias(self, tensor: torch.Tensor) -> torch.Tensor:
        """A tensor over the same bytes that keeps nothing of the user's alive."""
        dtype = tensor.dtype
        whole = self._wholes.get(dtype)
        if whole is None:
            length = self.segment.size // dtype.itemsize
            whole = self._wholes[dtype] = tensor_over(self._storage, dtype, 0, (length,), (1,))
        start = (tensor.untyped_storage().data_ptr() - self.segment.address) // dtype.itemsize
        part = whole.as_strided(tensor.shape, tensor.stride(), start + tensor.storage_offset())
        return with_bits(part, conjugate=tensor.is_conj(), negative=tensor.is_neg())

    def acquire(self) -> Segment:
        """What a launch has to hold while it runs.

        Raises:
            RuntimeError: the allocator gave the memory back: a GPU would find an illegal address.
        """
        if self.retired:
            raise RuntimeError(
                f"a captured kernel reaches {self.segment.size} bytes at {self.segment.address:#x} that the allocator "
                "has returned to the system; a graph has to keep its memory pool as long as it is replayed"
            )
        return self.segment


class DeviceMemory:
    """The device's memory.

    Args:
        limit: the most bytes that all segments together may have; ``None`` for no limit.

    Attributes:
        allocator: where all of it comes from.
        unpoisoned: what has to be poisoned in the order of its stream: address, bytes and stream of each piece.
    """

    def __init__(self, limit: int | None = None) -> None:
        self.allocator = TensorAllocator(limit, on_map=runtime.register_memory, on_unmap=self._unmapped)
        self.unpoisoned: deque[tuple[int, int, int]] = deque()
        self._views: weakref.WeakValueDictionary[int, SegmentView] = weakref.WeakValueDictionary()

    def segment(self, address: int) -> SegmentView | None:
        """The view of the segment that holds `address`: one for each segment, for as long as kernels hold it."""
        segment = self.allocator.segment_of(address)
        if segment is None:
            return None
        view = self._views.get(segment.address)
        if view is None:
            view = self._views[segment.address] = SegmentView(segment)
        return view

    def _unmapped(self, address: int) -> None:
        view = self._views.pop(address, None)
        if view is not None:
            view.retired = True
        runtime.unregister_memory(address)

    @contextlib.contextmanager
    def poisoned_in_stream_order(self) -> Iterator[None]:
        """Inside, memory that is handed out or freed is poisoned by its stream, and otherwise at once.

        Work that was given to the stream before still finds its values; work on another stream that nobody ordered
        does not.
        """
        # Called from finalizers, which must not wait for the runtime's lock: so it is only noted.
        self.allocator.poison = lambda address, nbytes, stream: self.unpoisoned.append((address, nbytes, stream))
        try:
            yield
        finally:
            self.allocator.poison = poison_now
            self.settle()

    def settle(self) -> None:
        """Poison the noted memory, in front of all work that comes from now on.

        Ordinary memory belongs to a stream, which does it in its order.  A graph's pool is reached from whatever stream
        the graph is replayed on, so there it happens at once, and only while no replay can be at work in it.
        """
        while self.unpoisoned:
            address, nbytes, stream = self.unpoisoned.popleft()
            view = self.segment(address)
            if view is None:
                continue  # returned to the system meanwhile
            if view.segment.pool != DEFAULT_POOL:
                if runtime.idle():
                    poison_now(address, nbytes, stream)
                continue
            kernel = OperatorKernel("poison", (view,), None, functools.partial(poison_now, address, nbytes, stream))
            check(runtime, "launchKernel", runtime.launchKernel(kernel, stream))
