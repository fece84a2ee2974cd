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


class Function:
    """A kernel under a handle, as `cudaKernelNodeParams.func` names it."""

    __slots__ = ("__weakref__", "_handle", "kernel")

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self._handle = 0

    @property
    def handle(self) -> int:
        """Its handle, which it gets when somebody asks for it: of most functions nobody does."""
        if not self._handle:
            self._handle = _handles.reserve()
            _functions[self._handle] = self
        return self._handle


_handles: HandleTable[Function] = HandleTable()
# A function lives as long as the nodes that launch it.
_functions: WeakValueDictionary[int, Function] = WeakValueDictionary()


def find_function(handle: int) -> Function | None:
    """The function behind a handle, while a node or an executable still has it."""
    return _functions.get(handle)
