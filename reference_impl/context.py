"""The context manager around a capture: torch.cuda.graph."""

from __future__ import annotations

import gc
from types import TracebackType
from typing import Any

import torch

from reference_impl.device import device


class graph:  # noqa: N801  # the documented name
    """Capture the work of a ``with`` block into a graph.  Implements torch.cuda.graph.

    Args:
        cuda_graph: the graph to capture into.
        pool: memory pool token to share, as for ``capture_begin``.
        stream: the stream to capture on; one side stream, made at first need, serves all blocks that name none.
        capture_error_mode, check_input_liveness: as for ``capture_begin``.
    """

    default_capture_stream: Any = None

    def __init__(
        self,
        cuda_graph: Any,
        pool: Any = None,
        stream: Any = None,
        capture_error_mode: str = "global",
        check_input_liveness: bool = False,
    ) -> None:
        if stream is None:
            if graph.default_capture_stream is None:
                graph.default_capture_stream = device().new_stream()
            stream = graph.default_capture_stream
        self.cuda_graph = cuda_graph
        self.capture_stream = stream
        self.pool = () if pool is None else (pool,)
        self.capture_error_mode = capture_error_mode
        self.check_input_liveness = check_input_liveness
        self._outer: Any = None

    def __enter__(self) -> None:
        # As much memory as possible is free before the capture's pool grows.
        device().synchronize()
        if torch.compiler.config.force_cudagraph_gc:
            gc.collect()
        device().empty_cache()
        self._outer = device().current_stream()
        device().set_stream(self.capture_stream)
        try:
            self.cuda_graph.capture_begin(
                *self.pool,
                capture_error_mode=self.capture_error_mode,
                check_input_liveness=self.check_input_liveness,
            )
        except BaseException:
            device().set_stream(self._outer)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.cuda_graph.capture_end()
        finally:
            device().set_stream(self._outer)
