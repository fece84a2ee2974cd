"""The names of a device module, as ``torch.cuda`` has them, for the device of this process."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from reference_impl.devices.chosen import device
from reference_impl.devices.protocol import current_stream_capturing
from reference_impl.pool_ids import PoolId

__all__ = [
    "Event",
    "MemPool",
    "Stream",
    "cudart",
    "current_stream",
    "default_stream",
    "empty",
    "empty_cache",
    "graph_pool_handle",
    "is_current_stream_capturing",
    "manual_seed",
    "memory_allocated",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "pinned",
    "read",
    "session",
    "set_stream",
    "stream",
    "synchronize",
    "tensor",
]


def cudart() -> Any:
    """The runtime of the device: ``cuda.bindings.runtime`` or its executable model."""
    return device().runtime


def Stream() -> Any:  # noqa: N802  # named as the class that it makes one of
    """A new stream."""
    return device().new_stream()


def Event(  # noqa: N802  # likewise
    enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, external: bool = False
) -> Any:
    """A new event.

    Args:
        enable_timing: whether ``elapsed_time`` can be asked.
        blocking: whether the host sleeps while it waits.
        interprocess: whether other processes can be given the event.
        external: whether records and waits in a capture are nodes of its graph, rather than edges.
    """
    settings = {"enable_timing": enable_timing, "blocking": blocking, "interprocess": interprocess}
    if external:  # not every release of torch knows it
        settings["external"] = True
    return device().new_event(**settings)


def current_stream() -> Any:
    """The calling thread's current stream."""
    return device().current_stream()


def default_stream() -> Any:
    """The device's default stream, which cannot capture."""
    return device().default_stream()


def set_stream(stream: Any) -> None:
    """Make `stream` the calling thread's current stream."""
    device().set_stream(stream)


@contextlib.contextmanager
def stream(stream: Any) -> Iterator[None]:
    """Make `stream` current inside a ``with`` block, the previous one afterwards; ``None`` changes nothing."""
    outer = device().current_stream()
    device().set_stream(outer if stream is None else stream)
    try:
        yield
    finally:
        device().set_stream(outer)


def synchronize() -> None:
    """Wait for all work of the device.  Raises `DeviceError` while a stream captures, whose capture it spoils."""
    device().synchronize()


def is_current_stream_capturing() -> bool:
    """Whether a capture, valid or invalidated, is underway on the current stream."""
    return current_stream_capturing(device())


def graph_pool_handle() -> PoolId:
    """A fresh token by which graphs can share a memory pool."""
    return device().graph_pool_handle()


class MemPool:
    """A memory pool as an object; captures take it wherever they take its token.

    Attributes:
        id: the pool's token.
    """

    def __init__(self) -> None:
        self.id = graph_pool_handle()


def empty_cache() -> None:
    """Return memory that no tensor and no graph uses."""
    device().empty_cache()


def memory_allocated() -> int:
    """Bytes in live tensors of the device's allocator."""
    return device().memory_allocated()


def memory_reserved() -> int:
    """Bytes that the device's allocator holds."""
    return device().memory_reserved()


def memory_stats() -> dict[str, Any]:
    """The allocator's statistics, by torch.cuda's keys."""
    return device().memory_stats()


def memory_snapshot() -> list[Any]:
    """The allocator's segments and blocks, shaped as by torch.cuda."""
    return device().memory_snapshot()


def manual_seed(seed: int) -> None:
    """Seed the device's default generator."""
    device().manual_seed(seed)


def empty(shape: Sequence[int], *, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """A tensor in the device allocator's ordinary memory, not initialised."""
    return device().empty(shape, dtype)


def tensor(data: Any, *, dtype: torch.dtype | None = None) -> torch.Tensor:
    """A tensor in the device allocator's ordinary memory holding `data`."""
    values = torch.as_tensor(data, dtype=dtype)
    return device().empty(values.shape, values.dtype).copy_(values)


def read(tensor: torch.Tensor) -> torch.Tensor:
    """A copy on the host, taken when the current stream's work is done: other streams are not waited for."""
    return device().read(tensor)


def session(seed: int) -> contextlib.AbstractContextManager[None]:
    """Make the software device asynchronous inside a ``with`` block; a GPU is so anyway.

    Operators wait in their streams and run as late and as interleaved as streams, events and graph edges allow; `seed`
    chooses among what is allowed.
    """
    return device().session(seed)


def pinned(data: Any, *, dtype: torch.dtype | None = None) -> torch.Tensor:
    """A host tensor that kernels of the device can read from, holding `data`."""
    values = torch.as_tensor(data, dtype=dtype)
    return values.clone() if device().torch_device.type == "cpu" else values.pin_memory()
