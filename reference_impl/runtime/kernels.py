"""Kernels of the software device: Python callables, the one extension beyond CUDA's runtime."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Protocol
from weakref import WeakValueDictionary

from reference_impl.runtime.handles import HandleTable


class Memory(Protocol):
    """External memory that a launch holds while it runs."""

    def acquire(self) -> object:
        """Called once at the start of each launch; the result is held until the launch ends."""
        ...


class Kernel(Protocol):
    """Work for the device.

    `name` is the operator's name.  `memory` is the external memory that a launch must hold, which may be empty.  Nodes
    with an equal `serial` key other than None keep their creation order in every run.
    """

    @property
    def name(self) -> str: ...

    @property
    def memory(self) -> Sequence[Memory]: ...

    @property
    def serial(self) -> Hashable | None: ...

    def run(self) -> None: ...


class KernelCall:
    """A kernel node: a kernel under a handle, by which `cudaKernelNodeParams.func` names it."""

    __slots__ = ("__weakref__", "_handle", "kernel")

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self._handle = 0

    @property
    def handle(self) -> int:
        """Its handle, made when somebody asks for it: for most kernels nobody does."""
        if not self._handle:
            self._handle = _handles.reserve()
            _calls[self._handle] = self
        return self._handle


_handles: HandleTable[KernelCall] = HandleTable()
# A handle is good for as long as a node has what it names.
_calls: WeakValueDictionary[int, KernelCall] = WeakValueDictionary()


def find_kernel(handle: int) -> KernelCall | None:
    """What a handle names, while a node or an executable still has it."""
    return _calls.get(handle)
