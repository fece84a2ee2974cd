"""Hooks that write what a graph holds to a file: torch.cuda.export_dot and torch.cuda.export_graph_data."""

from __future__ import annotations

import os
import pathlib
import pickle
from collections.abc import Callable

from reference_impl.graphs.cuda_graph import CUDAGraph
from reference_impl.graphs.debugging import print_dot


def export_dot(path: str | os.PathLike[str], *, verbose: bool = True) -> Callable[[CUDAGraph], None]:
    """A hook for `CUDAGraph.register_capture_end_hook` that writes the template to `path` in Graphviz's DOT format.

    Args:
        path: file to write, at the end of each capture.
        verbose: as for `CUDAGraph.debug_dump`.
    """
    return lambda graph: print_dot(graph, "export_dot()", path, verbose=verbose)


def export_graph_data(path: str | os.PathLike[str]) -> Callable[[CUDAGraph], None]:
    """A hook for `CUDAGraph.register_post_instantiate_hook` that writes the graph's data to `path` with pickle.

    Args:
        path: file to write, after each instantiation.
    """

    def write(graph: CUDAGraph) -> None:
        pathlib.Path(path).write_bytes(pickle.dumps(graph.get_graph_data()))

    return write
