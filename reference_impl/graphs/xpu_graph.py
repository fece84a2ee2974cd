"""The documented class torch.xpu.XPUGraph."""

from __future__ import annotations

import os
from typing import Any

from reference_impl.graphs.debugging import DumpsWhenEnabled


class XPUGraph(DumpsWhenEnabled):
    """A graph of device work that is captured once and replayed many times.  Implements torch.xpu.XPUGraph.

    Args:
        keep_graph: ``False``: `capture_end` makes the executable and destroys the template.  ``True``: the template
            stays; the executable is made by `instantiate`, or by the first `replay`.
    """

    _name = "XPU Graph"

    def __init__(self, keep_graph: bool = False) -> None:
        super().__init__(keep_graph)

    def capture_begin(self, pool: Any = None) -> None:
        """Begin a capture on the current stream.

        No mode is documented: what is safe in no other capture, such as a raw allocation, is no error in this one.

        Args:
            pool: token of the memory pool to share; a new pool when ``None``.

        Raises:
            RuntimeError: the graph already holds a capture, or the current stream cannot begin one.
            TypeError, ValueError: `pool` is not a token.
        """
        self._begin("capture_begin()", pool, "relaxed", check_input_liveness=False)

    def debug_dump(self, debug_path: str | os.PathLike[str]) -> None:
        """Write the captured graph to `debug_path`, if `enable_debug_mode` was called; else warn.

        Raises:
            RuntimeError: the path does not end in ``.dot``, nothing is captured, or the file cannot be written.
        """
        if not os.fspath(debug_path).endswith(".dot"):
            raise self._refuse("debug_dump()", f"and debug_path must end in .dot, which {debug_path!r} does not")
        self._dump(debug_path)

    def raw_xpu_graph(self) -> int:
        """The template's handle as an integer.

        Raises:
            RuntimeError: there is none, or ``keep_graph`` is false.
        """
        return self._kept_template("raw_xpu_graph()")

    def raw_xpu_graph_exec(self) -> int:
        """The executable's handle as an integer.  It dies with the next `instantiate` or `reset`.

        Raises:
            RuntimeError: nothing is instantiated.
        """
        return self._raw_executable("raw_xpu_graph_exec()")
