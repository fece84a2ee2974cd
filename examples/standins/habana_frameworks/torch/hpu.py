"""A stand-in for torch.hpu.

What differs from torch.cuda 1.10:

- no pools: no pool argument, no pool(), no graph_pool_handle();
- no reset(), and nothing that tells whether a stream captures;
- capture_begin, replay and graph have arguments of their own;
- make_graphed_callables has other arguments, and other defaults;
- graph frees no memory, and stays on its stream when the end of the capture fails.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any

from standin import device
from standin.device import *
from standin.graphs import Shell, same

from reference_impl import CUDAGraph
from reference_impl import make_graphed_callables as _make

__all__ = ["HPUGraph", "graph", "make_graphed_callables"]


class HPUGraph(Shell):
    def __init__(self) -> None:
        super().__init__(CUDAGraph())

    def capture_begin(self, dry_run: bool = False) -> None:
        self._inner.capture_begin()

    capture_end = same(CUDAGraph.capture_end)

    def replay(self, asynchronous: bool = False) -> None:
        self._inner.replay()


class graph:
    def __init__(
        self, hpu_graph: HPUGraph, stream: Any = None, disable_tensor_cache: bool = False, dry_run: bool = False
    ) -> None:
        self._graph, self._dry_run = hpu_graph, dry_run
        self._stream = device.Stream() if stream is None else stream

    def __enter__(self) -> None:
        self._outer = device.current_stream()
        device.set_stream(self._stream)
        self._graph.capture_begin(self._dry_run)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._graph.capture_end()
        device.set_stream(self._outer)


def make_graphed_callables(
    callables: Any,
    sample_args: Any,
    warmups: int = 0,
    allow_unused_input: bool = False,
    asynchronous: bool = False,
    disable_tensor_cache: bool = False,
) -> Any:
    return _make(callables, sample_args, warmups, allow_unused_input)
