"""Writing a template to a file, for the documented classes whose dump has to be enabled first."""

from __future__ import annotations

import os
import warnings

from reference_impl.errors import check
from reference_impl.graphs.core import GraphCore


def print_dot(graph: GraphCore, call: str, path: str | os.PathLike[str], *, verbose: bool = True) -> None:
    """Write the live template of `graph` to `path` in Graphviz's DOT format.

    Raises:
        RuntimeError: there is no live template, or the file cannot be written.
    """
    template = graph._raw_template(call)
    runtime = graph._device.runtime
    flags = int(runtime.cudaGraphDebugDotFlags.cudaGraphDebugDotFlagsVerbose) if verbose else 0
    result = runtime.cudaGraphDebugDotPrint(template, os.fsencode(path), flags)
    check(runtime, "cudaGraphDebugDotPrint", result, f"{call} was to write {os.fspath(path)!r}.")


class DumpsWhenEnabled(GraphCore):
    """A graph that keeps its template for dumping once `enable_debug_mode` was called, and is otherwise unchanged."""

    def __init__(self, keep_graph: bool) -> None:
        super().__init__(keep_graph)
        self._debugging = False

    def enable_debug_mode(self) -> None:
        """Let `debug_dump` write the captures that end from now on."""
        self._debugging = True

    def _dump(self, path: str | os.PathLike[str]) -> None:
        if not self._debugging:
            warnings.warn(
                "debug_dump() writes nothing: call enable_debug_mode() on the graph before the capture",
                UserWarning,
                stacklevel=3,
            )
            return
        print_dot(self, "debug_dump()", path)

    def _finalize(self) -> None:
        if not self._debugging:
            super()._finalize()

    def _kept_template(self, call: str) -> int:
        """The template, if the user asked for it; one that is kept for dumping alone is not handed out."""
        if not self._keep_graph:
            raise self._refuse(call, "only keep_graph=True hands out the template")
        return self._raw_template(call)

    def instantiate(self) -> None:
        """Make a fresh executable from the template; one that was made before is destroyed.

        Raises:
            RuntimeError: nothing was captured, or ``keep_graph=False``.
        """
        if not self._keep_graph:
            raise self._refuse("instantiate()", "with keep_graph=False capture_end() does this: use keep_graph=True")
        super().instantiate()
