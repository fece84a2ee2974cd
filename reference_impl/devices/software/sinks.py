"""Where operators go on the software device when they do not simply run: a capture, or the streams of a session."""

from __future__ import annotations

import abc
import functools
import operator
from collections.abc import Hashable
from types import TracebackType
from typing import Any

import torch
from torch._ops import OpOverload

from reference_impl import runtime
from reference_impl.allocator import DEFAULT_POOL
from reference_impl.devices import operators
from reference_impl.devices.software.external import ExternalMemory
from reference_impl.devices.software.generator import CapturedDraws
from reference_impl.devices.software.kernels import OperatorKernel
from reference_impl.devices.software.memory import DeviceMemory, SegmentView
from reference_impl.devices.software.streams import Streams
from reference_impl.errors import HostReadInCapture, check
from reference_impl.pool_ids import PoolId
from reference_impl.runtime import Memory

_KEY = torch._C.DispatchKey
_WATCHERS = functools.reduce(
    operator.or_,
    map(
        torch._C.DispatchKeySet,
        (
            _KEY.Python,
            _KEY.PythonTLSSnapshot,
            _KEY.PreDispatch,
            _KEY.AutogradFunctionality,
            _KEY.AutogradOther,
            _KEY.AutogradNestedTensor,
            _KEY.ADInplaceOrView,
            _KEY.AutocastCPU,
        ),
    ),
)


class unwatched:  # noqa: N801  # used as a function; a generator's context takes as long as an operator
    """Keep what watches the user's operators (modes, autograd, autocast) away from the device's kernels."""

    __slots__ = ("_functions", "_operators")

    def __enter__(self) -> None:
        self._operators = torch._C._ExcludeDispatchKeyGuard(_WATCHERS)
        self._functions = torch._C.DisableTorchFunction()
        self._operators.__enter__()
        self._functions.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._functions.__exit__(kind, error, trace)
        self._operators.__exit__(kind, error, trace)


class Sink(abc.ABC):
    """Takes operators as kernels for the current stream: what a capture and a session have in common.

    Args:
        memory: of the device.
        streams: of the device.
        pool: where new memory comes from.
    """

    def __init__(self, memory: DeviceMemory, streams: Streams, pool: PoolId) -> None:
        self._memory = memory
        self._streams = streams
        self._pool = pool

    @property
    def draws(self) -> CapturedDraws | None:
        """The draws that are recorded, where they are."""
        return None

    def empty(self, nbytes: int) -> torch.UntypedStorage:
        """New memory for the current stream."""
        return self._memory.allocator.storage(nbytes, self._streams.thread.current.cuda_stream, self._pool)

    def launch(self, kernel: OperatorKernel) -> None:
        """Give a kernel to the current stream, or to its capture."""
        if self._memory.unpoisoned:
            self._memory.settle()
        result = runtime.launchKernel(kernel, self._streams.thread.current.cuda_stream)
        check(runtime, "launchKernel", result, f"The operator was {kernel.name}.")

    def alias(self, tensor: torch.Tensor) -> tuple[SegmentView | ExternalMemory, torch.Tensor]:
        """The memory of a tensor as kernels hold it, and a tensor over it that keeps nothing of the user's alive."""
        memory = self.reach(tensor.untyped_storage())
        return memory, memory.alias(tensor)

    def once(self, memory: tuple[Memory, ...]) -> tuple[Memory, ...]:
        """What kernels hold of `memory`: kernels over the same memory may share it."""
        return memory

    @abc.abstractmethod
    def reach(self, storage: torch.UntypedStorage) -> SegmentView | ExternalMemory:
        """The memory of a storage as kernels hold it, whether it is the allocator's or comes from outside."""

    @abc.abstractmethod
    def keep(self, storage: torch.UntypedStorage) -> None:
        """Hold a literal's storage as long as the kernels that use it."""

    @abc.abstractmethod
    def host_read(self, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the host gets from an operator that brings values to it; raises where there are none."""


class SoftwareCapture(Sink):
    """One capture: its pool, and the user's storages that it reaches."""

    def __init__(self, memory: DeviceMemory, streams: Streams, pool: PoolId) -> None:
        super().__init__(memory, streams, pool)
        self._externals: dict[int, ExternalMemory] = {}
        self._draws = CapturedDraws()
        self._aliases: dict[Hashable, tuple[SegmentView | ExternalMemory, torch.Tensor]] = {}
        self._held: dict[tuple[Memory, ...], tuple[Memory, ...]] = {}

    @property
    def draws(self) -> CapturedDraws:
        return self._draws

    def once(self, memory: tuple[Memory, ...]) -> tuple[Memory, ...]:
        return self._held.setdefault(memory, memory)

    def alias(self, tensor: torch.Tensor) -> tuple[SegmentView | ExternalMemory, torch.Tensor]:
        # Nodes share what lies over one piece of memory.  A storage that is watched keeps its identity to itself, so
        # one with that identity and address is alive; of the allocator's memory the address says all.
        storage = tensor.untyped_storage()
        key = (
            storage._cdata,
            storage.data_ptr(),
            tensor.storage_offset(),
            tensor.dtype,
            tensor.shape,
            tensor.stride(),
            tensor.is_neg(),
            tensor.is_conj(),
        )
        found = self._aliases.get(key)
        if found is None or found[0].retired:
            memory = self.reach(storage)
            found = self._aliases[key] = memory, memory.alias(tensor)
        return found

    def reach(self, storage: torch.UntypedStorage) -> SegmentView | ExternalMemory:
        # While its weak reference is held, a storage's identity is not given to another one.
        external = self._externals.get(storage._cdata)
        if external is not None and external.alive:
            return external
        return self._memory.segment(storage.data_ptr()) or self._watched(storage)

    def keep(self, storage: torch.UntypedStorage) -> None:
        external = self._externals.get(storage._cdata)
        if external is None or not external.alive:
            external = self._watched(storage)
        external.hold(storage)

    def _watched(self, storage: torch.UntypedStorage) -> ExternalMemory:
        external = self._externals[storage._cdata] = ExternalMemory(storage)
        return external

    def host_read(self, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ARG002  # nothing is read
        known = operators.known_equality(func, args)
        if known is not None:
            return known
        # What the host would wait with: it fails and invalidates the capture, as it does on a GPU.
        error = runtime.cudaStreamSynchronize(self._streams.thread.current.cuda_stream)[0]
        text = runtime.cudaGetErrorString(error)[1].decode()
        detail = f"{func.name()} needs a value on the host, and nothing runs during a capture."
        raise HostReadInCapture("cudaStreamSynchronize", error, text, detail)


class Session(Sink):
    """Asynchronous eager work: every operator waits in the current stream until somebody needs it done."""

    def __init__(self, memory: DeviceMemory, streams: Streams) -> None:
        super().__init__(memory, streams, DEFAULT_POOL)

    def reach(self, storage: torch.UntypedStorage) -> SegmentView | ExternalMemory:
        # The launch holds what is from outside: ordinary CPU memory has no stream order to be freed in.
        return self._memory.segment(storage.data_ptr()) or ExternalMemory(storage)

    def keep(self, storage: torch.UntypedStorage) -> None:
        """Nothing to do: the launch holds it."""

    def host_read(self, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._streams.thread.current.synchronize()
        self._memory.settle()
        with unwatched():
            return func(*args, **kwargs)
