"""Where operators go on the software device when they do not simply run: a capture, or the streams of a session."""

from __future__ import annotations

import abc
import contextlib
from collections.abc import Iterator
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

_BELOW_AUTOCAST = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)


@contextlib.contextmanager
def unwatched() -> Iterator[None]:
    """Keep what watches the user's operators (modes, autograd, autocast) away from the device's kernels."""
    with (
        torch._C._DisableTorchDispatch(),
        torch._C.DisableTorchFunction(),
        torch._C._AutoDispatchBelowAutograd(),
        torch._C._ExcludeDispatchKeyGuard(_BELOW_AUTOCAST),
    ):
        yield


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

    @property
    def draws(self) -> CapturedDraws:
        return self._draws

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
