"""The context manager around a capture: torch.cuda.graph, and what torch.xpu.graph shares with it."""

from __future__ import annotations

import gc
from types import TracebackType
from typing import Any, ClassVar

import torch

from reference_impl.devices.chosen import device
from reference_impl.devices.protocol import current_stream_capturing
from reference_impl.errors import GraphError


def free_memory() -> None:
    """Free as much memory as possible before a capture's pool grows.

    Raises:
        GraphError: a capture is underway on the current stream, which the waiting in here would spoil.
    """
    if current_stream_capturing(device()):
        raise GraphError("a capture cannot be entered while the current stream captures: leave that capture first")
    device().synchronize()
    if torch.compiler.config.force_cudagraph_gc:
        gc.collect()
    device().empty_cache()


class CaptureContext:
    """Capture the work of a ``with`` block on a side stream.

    Args:
        target: the graph to capture into.
        stream: the stream to capture on; one side stream, made at first need, serves all blocks that name none.
        settings: passed to the graph's ``capture_begin`` by name.
    """

    default_capture_stream: ClassVar[Any] = None

    def __init__(self, target: Any, stream: Any, settings: dict[str, Any]) -> None:
        if stream is None:
            if self.default_capture_stream is None:
                type(self).default_capture_stream = device().new_stream()
            stream = self.default_capture_stream
        self.capture_stream = stream
        self._target = target
        self._settings = settings
        self._outer: Any = None

    def __enter__(self) -> None:
        free_memory()
        outer = device().current_stream()
        device().set_stream(self.capture_stream)
        try:
            self._target.capture_begin(**self._settings)
        except BaseException:
            device().set_stream(outer)
            raise
        self._outer = outer

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._target.capture_end()
        finally:
            device().set_stream(self._outer)


class graph(CaptureContext):  # noqa: N801  # the documented name
    """Capture the work of a ``with`` block into a graph.  Implements torch.cuda.graph.

    Args:
        cuda_graph: the graph to capture into.
        pool: memory pool token to share, as for ``capture_begin``.
        stream: the stream to capture on; by default a side stream of this class's own.
        capture_error_mode, check_input_liveness: as for ``capture_begin``.
    """

    def __init__(
        self,
        cuda_graph: Any,
        pool: Any = None,
        stream: Any = None,
        capture_error_mode: str = "global",
        check_input_liveness: bool = False,
    ) -> None:
        settings = {
            "pool": pool,
            "capture_error_mode": capture_error_mode,
            "check_input_liveness": check_input_liveness,
        }
        super().__init__(cuda_graph, stream, settings)
        self.cuda_graph = cuda_graph
