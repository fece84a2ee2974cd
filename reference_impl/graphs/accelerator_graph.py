"""The documented class torch.accelerator.Graph."""

from __future__ import annotations

import os
from types import MappingProxyType, TracebackType
from typing import Any

from reference_impl.graphs.context import free_memory
from reference_impl.graphs.core import MODES
from reference_impl.graphs.debugging import DumpsWhenEnabled


class Graph(DumpsWhenEnabled):
    """A graph of device work that is captured once and replayed many times.  Implements torch.accelerator.Graph.

    The graph is its own context manager: ``with stream, graph:`` captures on the current stream.

    Args:
        keep_graph: ``False``: `capture_end` makes the executable and destroys the template.  ``True``: the template
            stays; the executable is made by `instantiate`, or by the first `replay`.
        pool: token of the memory pool to share; a new pool when ``None``.
        capture_error_mode: ``"global"``, ``"thread_local"``, ``"relaxed"``, or ``"default"``, which is global here.

    Attributes:
        graph_pool, capture_error_mode: what the next `capture_begin` uses; both may be set before a recapture.
    """

    _modes = MappingProxyType({"default": MODES["global"], **MODES})

    def __init__(self, keep_graph: bool = False, *, pool: Any = None, capture_error_mode: str = "default") -> None:
        super().__init__(keep_graph)
        self.graph_pool = pool
        self.capture_error_mode = capture_error_mode

    def capture_begin(self) -> None:
        """Begin a capture on the current stream, with the pool and the mode given before.

        Raises:
            RuntimeError: the graph already holds a capture, or the current stream cannot begin one.
            TypeError, ValueError: the pool or the mode is not of the documented kind.
        """
        self._begin("capture_begin()", self.graph_pool, self.capture_error_mode, check_input_liveness=False)

    def debug_dump(self, path: str | os.PathLike[str]) -> None:
        """Write the captured graph to `path` in Graphviz's DOT format, if `enable_debug_mode` was called; else warn.

        Raises:
            RuntimeError: nothing is captured, or the file cannot be written.
        """
        self._dump(path)

    def __enter__(self) -> None:
        free_memory()
        self.capture_begin()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.capture_end()
