"""Where operators go on the software device when they do not simply run: a capture, or the streams of a session."""

from __future__ import annotations

import contextlib
import functools
from collections import deque
from typing import Any, NoReturn, Protocol

import torch
from torch._ops import OpOverload

from reference_impl import runtime
from reference_impl.allocator import DEFAULT_POOL, Segment, poison_now
from reference_impl.allocator.storage import alias
from reference_impl.devices.protocol import PoolId
from reference_impl.devices.software.external import ExternalMemory
from reference_impl.devices.software.recorder import OperatorKernel
from reference_impl.devices.software.streams import Stream
from reference_impl.errors import HostReadInCapture, check


class SegmentView:
    """A segment of the allocator as kernels hold it, with a storage over all of it."""

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self.view = alias(segment.address, segment.size)
        self.mapped = True

    def acquire(self) -> Segment:
        """What a launch has to hold while it runs.

        Raises:
            RuntimeError: the allocator gave the memory back: a GPU would find an illegal address.
        """
        if not self.mapped:
            raise RuntimeError(
                f"a captured kernel reaches {self.segment.size} bytes at {self.segment.address:#x} that the allocator "
                "has returned to the system; a graph has to keep its memory pool as long as it is replayed"
            )
        return self.segment


class Host(Protocol):
    """What a sink needs of its device."""

    def current_stream(self) -> Stream: ...

    def storage(self, nbytes: int, pool: PoolId) -> torch.UntypedStorage: ...

    def view_at(self, address: int) -> SegmentView | None:
        """The view of the allocator's segment that holds `address`, if one does."""

    def settle(self) -> None: ...

    def launching(self) -> contextlib.AbstractContextManager[Any]: ...


class Launches:
    """Operators as kernels for the current stream: what a capture and a session have in common.

    Args:
        device: whose streams and memory are used.
        pool: where new memory comes from.
    """

    def __init__(self, device: Host, pool: PoolId) -> None:
        self._device = device
        self._pool = pool

    def empty(self, nbytes: int) -> torch.UntypedStorage:
        return self._device.storage(nbytes, self._pool)

    def segment(self, address: int) -> SegmentView | None:
        return self._device.view_at(address)

    def launch(self, kernel: OperatorKernel) -> None:
        self._device.settle()
        stream = self._device.current_stream().cuda_stream
        check(runtime, "launchKernel", runtime.launchKernel(kernel, stream), f"The operator was {kernel.name}.")


class SoftwareCapture(Launches):
    """One capture: its pool, and the user's storages that it reaches."""

    def __init__(self, device: Host, pool: PoolId) -> None:
        super().__init__(device, pool)
        self._externals: dict[int, ExternalMemory] = {}

    def external(self, storage: torch.UntypedStorage) -> ExternalMemory:
        # While its weak reference is held, a storage's identity is not given to another one.
        known = self._externals.get(storage._cdata)
        if known is None or not known.alive:
            known = self._externals[storage._cdata] = ExternalMemory(storage)
        return known

    def keep(self, storage: torch.UntypedStorage) -> None:
        self.external(storage).hold(storage)

    def host_read(self, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> NoReturn:  # noqa: ARG002  # nothing is read
        # What the host would wait with: it fails and invalidates the capture, as it does on a GPU.
        error = runtime.cudaStreamSynchronize(self._device.current_stream().cuda_stream)[0]
        text = runtime.cudaGetErrorString(error)[1].decode()
        detail = f"{func.name()} needs a value on the host, and nothing runs during a capture."
        raise HostReadInCapture("cudaStreamSynchronize", error, text, detail)


class Session(Launches):
    """Asynchronous eager work: every operator waits in the current stream until somebody needs it done.

    Memory that is freed meanwhile is poisoned in the order of its stream, so that work which was given to that stream
    earlier still finds its values, and work on another stream that nobody ordered does not.
    """

    def __init__(self, device: Host) -> None:
        super().__init__(device, DEFAULT_POOL)
        self._freed: deque[tuple[int, int, int]] = deque()

    def external(self, storage: torch.UntypedStorage) -> ExternalMemory:
        return ExternalMemory(storage)  # the launch holds it: ordinary CPU memory has no stream order to be freed in

    def keep(self, storage: torch.UntypedStorage) -> None:
        """Nothing to do: the launch holds it."""

    def host_read(self, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._device.current_stream().synchronize()
        with self._device.launching():
            return func(*args, **kwargs)

    def poison(self, address: int, nbytes: int, stream: int) -> None:
        """Note memory to poison.  Called from finalizers, which must not wait for the runtime's lock."""
        self._freed.append((address, nbytes, stream))

    def poison_freed(self) -> None:
        """Poison the noted memory, in front of all work that comes from now on.

        Ordinary memory belongs to a stream, which does it in its order.  A graph's pool is reached from whatever stream
        the graph is replayed on, so there it happens at once, and only while no replay can be at work in it.
        """
        while self._freed:
            address, nbytes, stream = self._freed.popleft()
            segment = self.segment(address)
            if segment is None:
                continue  # returned to the system meanwhile
            if segment.segment.pool != DEFAULT_POOL:
                if runtime.idle():
                    poison_now(address, nbytes, stream)
                continue
            run = functools.partial(poison_now, address, nbytes, stream)
            kernel = OperatorKernel("poison", (segment,), None, run)
            check(runtime, "launchKernel", runtime.launchKernel(kernel, stream))
