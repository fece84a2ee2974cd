"""The software device: CPU tensors, the runtime's executable model, and a caching allocator.

Outside a capture, operators run at once, as on any CPU.  Inside one, the recorder of the thread turns them into kernel
nodes; it is on the thread's mode stack exactly while the thread's current stream captures.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from reference_impl import runtime
from reference_impl.allocator import DEFAULT_POOL, graph_pool_handle, new_pool_id
from reference_impl.devices.mode_stack import push_at_bottom, remove
from reference_impl.devices.software.generator import CapturedDraws, Watch
from reference_impl.devices.software.memory import DeviceMemory
from reference_impl.devices.software.recorder import Recorder
from reference_impl.devices.software.sinks import Session, Sink, SoftwareCapture, unwatched
from reference_impl.devices.software.streams import Event, Stream, Streams
from reference_impl.errors import check
from reference_impl.pool_ids import PoolId
from reference_impl.runtime.captures import live as live_captures
from reference_impl.runtime.kernels import find_kernel


def _contiguous(size: torch.Size) -> tuple[int, ...]:
    return torch.empty(size, device="meta").stride()


class SoftwareDevice:
    """See `reference_impl.devices.protocol.Device`."""

    runtime = runtime
    torch_device = torch.device("cpu")
    captures = live_captures

    def __init__(self, limit: int | None = None) -> None:
        self._memory = DeviceMemory(limit)
        self.allocator = self._memory.allocator
        self._streams = Streams(self._stream_changed)
        self._session: Session | None = None
        self._thread = threading.local()
        self._watch = Watch(self._listens, self._captured_draws)
        runtime.surround_kernels(self.launching)

    # -- streams ----------------------------------------------------------------------------------------------------

    def new_stream(self) -> Stream:
        return self._streams.new()

    def new_event(self, **settings: bool) -> Event:
        return Event(self._streams, **settings)

    def current_stream(self) -> Stream:
        return self._streams.thread.current

    def current_handle(self) -> int:
        return self._streams.thread.current.cuda_stream

    def default_stream(self) -> Stream:
        return self._streams.default

    def set_stream(self, stream: Stream) -> None:
        self._streams.make_current(stream)

    def synchronize(self) -> None:
        check(runtime, "cudaDeviceSynchronize", runtime.cudaDeviceSynchronize())

    # -- captures ---------------------------------------------------------------------------------------------------

    def capture_begun(self, pool: PoolId) -> None:
        capture = self._streams.thread.current.queue.capture
        if capture is not None:
            capture.attached = SoftwareCapture(self._memory, self._streams, pool)
        self._stream_changed()

    def capture_over(self) -> None:
        self._stream_changed()

    def _stream_changed(self) -> None:
        """Have the recorder on this thread's mode stack exactly while it has something to do there."""
        needed = self._session is not None or self._streams.thread.current.queue.capture is not None
        recorder: Recorder | None = getattr(self._thread, "recorder", None)
        if needed and recorder is None:
            self._thread.recorder = Recorder(self._sink)
            push_at_bottom(self._thread.recorder)
            self._watch.begin()
        elif not needed and recorder is not None:
            self._thread.recorder = None
            remove(recorder)
            self._watch.end()

    def _listens(self) -> bool:
        """Whether the calling thread is in the user's program: work of the device's own has no recorder around it."""
        recorder = getattr(self._thread, "recorder", None)
        return recorder is not None and recorder in _get_current_dispatch_mode_stack()

    def _captured_draws(self) -> CapturedDraws | None:
        sink = self._sink()
        return None if sink is None else sink.draws

    def _sink(self) -> Sink | None:
        """Where operators of the calling thread go now."""
        capture = self._streams.thread.current.queue.capture
        if capture is None:
            return self._session
        sink: Sink | None = capture.attached
        if sink is None:
            # A capture that was begun through the runtime alone allocates from the default pool.
            sink = capture.attached = SoftwareCapture(self._memory, self._streams, DEFAULT_POOL)
        return sink

    # -- asynchrony -------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def session(self, seed: int) -> Iterator[None]:
        """Inside, the device is asynchronous: see `Session`.  `seed` decides what runs when.

        Raises:
            RuntimeError: a session is open already.
        """
        if self._session is not None:
            raise RuntimeError("session(): one is open already; leave it before opening another")
        with runtime.deferred(seed), self._memory.poisoned_in_stream_order():
            self._session = Session(self._memory, self._streams)
            self._stream_changed()
            try:
                yield
            finally:
                self._session = None
                self._stream_changed()

    def read(self, tensor: torch.Tensor) -> torch.Tensor:
        """A copy on the host, taken when the current stream's work is done: other streams are not waited for."""
        self._streams.thread.current.synchronize()
        with self.launching():
            return tensor.detach().clone()

    def launch(self, executable: int) -> Any:
        with self.launching():
            return runtime.cudaGraphLaunch(executable, self._streams.thread.current.cuda_stream)[0]

    def launching(self) -> contextlib.AbstractContextManager[None]:
        """Keep what watches the user's operators away from kernels, which find all freed memory poisoned."""
        self._memory.settle()
        return unwatched()

    def kernel_failure(self, code: Any) -> BaseException | None:
        return runtime.last_failure() if code == runtime.cudaError_t.cudaErrorLaunchFailure else None

    def kernel_name(self, node: Any) -> str:
        params = check(runtime, "cudaGraphKernelNodeGetParams", runtime.cudaGraphKernelNodeGetParams(node))
        call = find_kernel(int(params.func))
        return "" if call is None else call.kernel.name

    def tracks(self, tensor: torch.Tensor) -> bool:
        return tensor.is_cpu

    # -- memory -----------------------------------------------------------------------------------------------------

    def empty(self, shape: Iterable[int], dtype: torch.dtype) -> torch.Tensor:
        size = torch.Size(shape)
        stream = self._streams.thread.current.cuda_stream
        storage = self.allocator.storage(size.numel() * dtype.itemsize, stream, DEFAULT_POOL)
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
        self._watch.manual_seed(seed)
