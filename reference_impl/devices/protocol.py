"""The device boundary: what a graph needs of a device besides its runtime.

Two devices stand behind it: `reference_impl.devices.software.device`, a device made of CPU tensors, and
`reference_impl.devices.cuda`, a GPU through torch.cuda; `reference_impl.devices.chosen` picks one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sized
from typing import Any, Protocol

import torch

from reference_impl.pool_ids import PoolId


class Stream(Protocol):
    """A stream of the device; ``cuda_stream`` is its ``cudaStream_t`` as an integer."""

    cuda_stream: int


class Device(Protocol):
    """What torch supplies around the runtime."""

    @property
    def runtime(self) -> Any:
        """``cuda.bindings.runtime``, or its executable model."""

    @property
    def torch_device(self) -> torch.device:
        """Where tensors are made."""

    def new_stream(self) -> Any: ...

    def new_event(self, **settings: bool) -> Any:
        """A new event; `settings` are those of torch.cuda.Event."""

    def current_stream(self) -> Any: ...

    def current_handle(self) -> int:
        """The ``cudaStream_t`` of the current stream."""

    def default_stream(self) -> Any: ...
    def set_stream(self, stream: Any) -> None: ...
    def synchronize(self) -> None: ...

    def new_pool_id(self) -> PoolId:
        """A token for a pool that one graph owns."""

    def graph_pool_handle(self) -> PoolId:
        """A token that graphs can share memory by."""

    def begin_pool(self, pool: PoolId) -> None:
        """Count one more use of the pool and send the coming capture's allocations there."""

    def end_pool(self, pool: PoolId) -> None:
        """Stop sending allocations to the pool; its use still counts."""

    def retain_pool(self, pool: PoolId) -> None:
        """Count one more use of the pool."""

    def release_pool(self, pool: PoolId) -> None:
        """Count one use less; the memory of an unused pool returns when its tensors are gone and caches are emptied."""

    def pool_ranges(self, pools: Iterable[PoolId]) -> list[tuple[int, int]]:
        """``[start, end)`` addresses of all memory of the pools, live and free."""

    def capture_begun(self, pool: PoolId) -> None:
        """A capture into `pool` has begun on the current stream."""

    def capture_over(self) -> None:
        """A capture has ended, well or not."""

    @property
    def captures(self) -> Sized:
        """The captures underway that this device knows of: while there are none, no stream need be asked."""

    @property
    def launch(self) -> Callable[[int], Any]:
        """Gives an executable to the current stream, and returns the runtime's code for it."""

    def kernel_failure(self, code: Any) -> BaseException | None:
        """What a kernel raised in the launch that returned `code`, where kernels can raise."""

    def kernel_name(self, node: Any) -> str:
        """The name of the kernel that a kernel node launches."""

    def tracks(self, tensor: torch.Tensor) -> bool:
        """Whether `tensor` is memory that a captured kernel of this device can reach."""

    def session(self, seed: int) -> contextlib.AbstractContextManager[None]:
        """Make the device as asynchronous as it can be; `seed` decides what runs when, where that is to be chosen."""

    def read(self, tensor: torch.Tensor) -> torch.Tensor:
        """A copy on the host, taken when the current stream's work is done."""

    def empty_cache(self) -> None: ...
    def memory_allocated(self) -> int: ...
    def memory_reserved(self) -> int: ...
    def memory_stats(self) -> dict[str, Any]: ...
    def memory_snapshot(self) -> list[Any]: ...
    def empty(self, shape: Iterable[int], dtype: torch.dtype) -> torch.Tensor: ...
    def manual_seed(self, seed: int) -> None: ...


def current_stream_capturing(on: Device) -> bool:
    """Whether a capture, valid or invalidated, is underway on the current stream."""
    # Asked of the runtime: torch's own streams cannot say it in every release.
    return int(on.runtime.cudaStreamIsCapturing(on.current_handle())[1]) != 0
