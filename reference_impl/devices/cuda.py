"""A GPU as the device: torch.cuda's streams, allocator and statistics around ``cuda.bindings.runtime``."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable
from typing import Any

import torch
from cuda.bindings import driver, runtime

from reference_impl.pool_ids import PoolId


class CudaDevice:
    """See `reference_impl.devices.protocol.Device`.

    Args:
        request: which GPU; the current one when it has no index.

    Raises:
        RuntimeError: torch has no such GPU.
    """

    runtime = runtime

    def __init__(self, request: torch.device) -> None:
        if not torch.cuda.is_available():
            raise RuntimeError(f"use_device({str(request)!r}): this PyTorch sees no CUDA device")
        index = torch.cuda.current_device() if request.index is None else request.index
        if index >= torch.cuda.device_count():
            raise RuntimeError(f"use_device({str(request)!r}): there are {torch.cuda.device_count()} CUDA devices")
        self.torch_device = torch.device("cuda", index)
        torch.cuda.set_device(index)
        torch.cuda.init()
        self._index = index
        #: Pools of the captures that graphs of this package have underway.
        self.captures: list[PoolId] = []
        self.launch = _launcher(index)

    def new_stream(self) -> Any:
        return torch.cuda.Stream(self.torch_device)

    def new_event(self, **settings: bool) -> Any:
        return torch.cuda.Event(**settings)

    def current_stream(self) -> Any:
        return torch.cuda.current_stream(self.torch_device)

    def current_handle(self) -> int:
        return torch._C._cuda_getCurrentRawStream(self._index)

    def default_stream(self) -> Any:
        return torch.cuda.default_stream(self.torch_device)

    def set_stream(self, stream: Any) -> None:
        torch.cuda.set_stream(stream)

    def synchronize(self) -> None:
        torch.cuda.synchronize(self.torch_device)

    def new_pool_id(self) -> PoolId:
        # torch numbers the pools that users ask for; one that nobody else knows belongs to one graph.
        return self.graph_pool_handle()

    def graph_pool_handle(self) -> PoolId:
        first, second = torch.cuda.graph_pool_handle()
        return (int(first), int(second))

    def begin_pool(self, pool: PoolId) -> None:
        torch._C._cuda_beginAllocateToPool(self._index, pool)

    def end_pool(self, pool: PoolId) -> None:
        torch._C._cuda_endAllocateToPool(self._index, pool)

    def retain_pool(self, pool: PoolId) -> None:
        # Beginning is the only call that counts a use.
        self.begin_pool(pool)
        self.end_pool(pool)

    def release_pool(self, pool: PoolId) -> None:
        torch._C._cuda_releasePool(self._index, pool)

    def pool_ranges(self, pools: Iterable[PoolId]) -> list[tuple[int, int]]:
        tokens = {tuple(pool) for pool in pools}
        return sorted(
            (segment["address"], segment["address"] + segment["total_size"])
            for segment in torch.cuda.memory_snapshot()
            if tuple(segment["segment_pool_id"]) in tokens
        )

    def capture_begun(self, pool: PoolId) -> None:
        # torch.cuda's kernels go to the capturing stream by themselves.
        self.captures.append(pool)

    def capture_over(self) -> None:
        self.captures.pop()

    def kernel_failure(self, code: Any) -> BaseException | None:  # noqa: ARG002  # a GPU's kernels raise nothing
        return None

    def kernel_name(self, node: Any) -> str:
        error, params = driver.cuGraphKernelNodeGetParams(driver.CUgraphNode(int(node)))
        if int(error) == 0 and int(params.kern) != 0:
            error, name = driver.cuKernelGetName(params.kern)
        elif int(error) == 0:
            error, name = driver.cuFuncGetName(params.func)
        if int(error) != 0:
            raise RuntimeError(f"CUDA gives no name for the kernel of node {int(node):#x}: {error!r}")
        return str(name.decode())

    def tracks(self, tensor: torch.Tensor) -> bool:
        return tensor.is_cuda or tensor.is_pinned()

    def session(self, seed: int) -> contextlib.AbstractContextManager[None]:  # noqa: ARG002  # a GPU chooses itself
        return contextlib.nullcontext()

    def read(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.detach().to("cpu", copy=True)

    def empty_cache(self) -> None:
        torch.cuda.empty_cache()

    def memory_allocated(self) -> int:
        return int(torch.cuda.memory_allocated(self._index))

    def memory_reserved(self) -> int:
        return int(torch.cuda.memory_reserved(self._index))

    def memory_stats(self) -> dict[str, Any]:
        return dict(torch.cuda.memory_stats(self._index))

    def memory_snapshot(self) -> list[Any]:
        return list(torch.cuda.memory_snapshot())

    def empty(self, shape: Iterable[int], dtype: torch.dtype) -> torch.Tensor:
        return torch.empty(tuple(shape), dtype=dtype, device=self.torch_device)

    def manual_seed(self, seed: int) -> None:
        torch.cuda.manual_seed(seed)


def _launcher(index: int) -> Callable[[int], Any]:
    """Launches executables on the current stream of a GPU.  Everything that can be known before is: a launch takes two
    microseconds, and a handle that the bindings must convert, or an attribute to be looked up, shows in that.
    """
    give, current = runtime.cudaGraphLaunch, torch._C._cuda_getCurrentRawStream
    executables: Callable[[int], Any] = functools.lru_cache(1024)(runtime.cudaGraphExec_t)
    streams: Callable[[int], Any] = functools.lru_cache(1024)(runtime.cudaStream_t)

    def launch(executable: int) -> Any:
        return give(executables(executable), streams(current(index)))[0]

    def launch_there(executable: int) -> Any:
        with torch.cuda.device(index):
            return launch(executable)

    return launch if torch.cuda.device_count() == 1 else launch_there
