"""The software device: CPU tensors, the runtime's executable model, and a caching allocator.

Outside a capture, operators run at once, as on any CPU.  Inside one, the recorder of the thread turns them into kernel
nodes; it is on the thread's mode stack exactly while the thread's current stream captures.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from reference_impl import runtime
from reference_impl.allocator import DEFAULT_POOL, graph_pool_handle, new_pool_id, poison_now
from reference_impl.allocator.storage import TensorAllocator
from reference_impl.devices.mode_stack import push_at_bottom, remove
from reference_impl.devices.protocol import PoolId
from reference_impl.devices.software.recorder import Recorder
from reference_impl.devices.software.sinks import SegmentView, Session, SoftwareCapture
from reference_impl.devices.software.streams import Event, Stream, Streams
from reference_impl.errors import check
from reference_impl.runtime.kernels import find_function

_NOT_CAPTURING = runtime.cudaStreamCaptureStatus.cudaStreamCaptureStatusNone
_BELOW_AUTOCAST = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)


def _contiguous(size: torch.Size) -> tuple[int, ...]:
    return torch.empty(size, device="meta").stride()


class SoftwareDevice:
    """See `reference_impl.devices.protocol.Device`."""

    runtime = runtime
    torch_device = torch.device("cpu")

    def __init__(self, limit: int | None = None) -> None:
        self.allocator = TensorAllocator(
            limit, on_map=runtime.register_memory, on_unmap=self._unmapped, poison=self._poison
        )
        self._session: Session | None = None
        self._views: weakref.WeakValueDictionary[int, SegmentView] = weakref.WeakValueDictionary()
        self._streams = Streams(self._stream_changed)
        runtime.surround_kernels(self.launching)
        self._captures: dict[int, SoftwareCapture] = {}
        self._thread = threading.local()

    # -- streams ----------------------------------------------------------------------------------------------------

    def new_stream(self) -> Stream:
        return self._streams.new()

    def new_event(self) -> Event:
        return Event(self._streams)

    def current_stream(self) -> Stream:
        return self._streams.current

    def default_stream(self) -> Stream:
        return self._streams.default

    def set_stream(self, stream: Stream) -> None:
        self._streams.current = stream

    def synchronize(self) -> None:
        check(runtime, "cudaDeviceSynchronize", runtime.cudaDeviceSynchronize())

    # -- captures ---------------------------------------------------------------------------------------------------

    def capture_begun(self, capture_id: int, pool: PoolId) -> None:
        self._captures[capture_id] = SoftwareCapture(self, pool)
        self._stream_changed()

    def capture_over(self, capture_id: int) -> None:
        self._captures.pop(capture_id, None)
        self._stream_changed()

    def _stream_changed(self) -> None:
        """Have the recorder on this thread's mode stack exactly while it has something to do there."""
        needed = self._session is not None or self._streams.current.is_capturing()
        recorder: Recorder | None = getattr(self._thread, "recorder", None)
        if needed and recorder is None:
            self._thread.recorder = Recorder(self._sink)
            push_at_bottom(self._thread.recorder)
        elif not needed and recorder is not None:
            self._thread.recorder = None
            remove(recorder)

    def _sink(self) -> SoftwareCapture | Session | None:
        """Where operators of the calling thread go now."""
        info = runtime.cudaStreamGetCaptureInfo(self._streams.current.cuda_stream)
        if info[1] == _NOT_CAPTURING:
            return self._session
        # A capture that was begun through the runtime alone allocates from the default pool.
        return self._captures.setdefault(int(info[2]), SoftwareCapture(self, DEFAULT_POOL))

    # -- asynchrony -------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def session(self, seed: int) -> Iterator[None]:
        """Inside, the device is asynchronous: see `Session`.  `seed` decides what runs when.

        Raises:
            RuntimeError: a session is open already.
        """
        if self._session is not None:
            raise RuntimeError("session(): one is open already; leave it before opening another")
        with runtime.deferred(seed):
            self._session = Session(self)
            self._stream_changed()
            try:
                yield
            finally:
                self._session.poison_freed()
                self._session = None
                self._stream_changed()

    def _poison(self, address: int, nbytes: int, stream: int) -> None:
        session = self._session
        if session is None:
            poison_now(address, nbytes, stream)
        else:
            session.poison(address, nbytes, stream)

    def settle(self) -> None:
        """Bring what finalizers have noted into the streams, before further work."""
        if self._session is not None:
            self._session.poison_freed()

    def read(self, tensor: torch.Tensor) -> torch.Tensor:
        """A copy on the host, taken when the current stream's work is done: other streams are not waited for."""
        self._streams.current.synchronize()
        with self.launching():
            return tensor.detach().clone()

    @contextlib.contextmanager
    def launching(self) -> Iterator[None]:
        """Keep what watches the user's operators (modes, autograd, autocast) away from the graph's kernels."""
        self.settle()
        with (
            torch._C._DisableTorchDispatch(),
            torch._C.DisableTorchFunction(),
            torch._C._AutoDispatchBelowAutograd(),
            torch._C._ExcludeDispatchKeyGuard(_BELOW_AUTOCAST),
        ):
            yield

    def kernel_failure(self, code: Any) -> BaseException | None:
        return runtime.last_failure() if code == runtime.cudaError_t.cudaErrorLaunchFailure else None

    def kernel_name(self, node: Any) -> str:
        params = check(runtime, "cudaGraphKernelNodeGetParams", runtime.cudaGraphKernelNodeGetParams(node))
        function = find_function(int(params.func))
        return "" if function is None else function.kernel.name

    def tracks(self, tensor: torch.Tensor) -> bool:
        return tensor.device.type == "cpu"

    # -- memory -----------------------------------------------------------------------------------------------------

    def view_at(self, address: int) -> SegmentView | None:
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
            view.mapped = False
        runtime.unregister_memory(address)

    def storage(self, nbytes: int, pool: PoolId) -> torch.UntypedStorage:
        """Poisoned memory of `nbytes` bytes for the current stream."""
        block = self.allocator.allocate(nbytes, self._streams.current.cuda_stream, pool)
        return self.allocator.tensor_storage(block)

    def empty(self, shape: Iterable[int], dtype: torch.dtype) -> torch.Tensor:
        size = torch.Size(shape)
        storage = self.storage(size.numel() * dtype.itemsize, DEFAULT_POOL)
        return torch.empty(0, dtype=dtype).set_(storage, 0, size, _contiguous(size))

    def new_pool_id(self) -> PoolId:
        return new_pool_id()

    def graph_pool_handle(self) -> PoolId:
        return graph_pool_handle()

    def begin_pool(self, pool: PoolId) -> None:
        self.allocator.begin_allocate_to_pool(pool)

    def end_pool(self, pool: PoolId) -> None:
        self.allocator.end_allocate_to_pool(pool)

    def retain_pool(self, pool: PoolId) -> None:
        self.allocator.retain_pool(pool)

    def release_pool(self, pool: PoolId) -> None:
        self.allocator.release_pool(pool)

    def pool_ranges(self, pools: Iterable[PoolId]) -> list[tuple[int, int]]:
        return self.allocator.ranges(pools)

    def empty_cache(self) -> None:
        self.allocator.empty_cache()

    def memory_allocated(self) -> int:
        return self.allocator.memory_allocated()

    def memory_reserved(self) -> int:
        return self.allocator.memory_reserved()

    def memory_stats(self) -> dict[str, Any]:
        return dict(self.allocator.memory_stats())

    def memory_snapshot(self) -> list[Any]:
        return list(self.allocator.memory_snapshot())

    def manual_seed(self, seed: int) -> None:
        if self._session is not None:
            self.synchronize()  # draws that were asked for before come from the old state
        torch.default_generator.manual_seed(seed)  # the device's own is the host's
