"""Graph data of the reference: the words for types of nodes, templates inside of nodes, and what hooks write."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import pytest
from cuda.bindings import runtime as bindings

import reference_impl as ref
from reference_impl.graphs.topology import type_name
from suites.support.dot import read

WORDS = {
    "Kernel": "kernel",
    "Memcpy": "memcpy",
    "Memset": "memset",
    "Host": "host",
    "Graph": "child_graph",
    "Empty": "empty",
    "WaitEvent": "wait_event",
    "EventRecord": "event_record",
    "MemAlloc": "mem_alloc",
    "MemFree": "mem_free",
    "Conditional": "conditional",
}


def captured(*, keep_graph: bool = True, hook: Any = None) -> ref.CUDAGraph:
    """A graph of one addition; `hook` is registered by its ``register``."""
    x, graph = ref.tensor([1.0, 2.0]), ref.CUDAGraph(keep_graph)
    if hook is not None:
        hook(graph)
    with ref.graph(graph):
        x.add_(1)
    return graph


@pytest.mark.parametrize("name", WORDS)
def test_word_for_each_type(name: str) -> None:
    kind = getattr(bindings.cudaGraphNodeType, f"cudaGraphNodeType{name}")
    assert type_name(kind) == WORDS[name]


def test_types_of_captured_nodes() -> None:
    graph = captured()
    graph.instantiate()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (node,) = graph.get_graph_data()["nodes"]
    assert (node["node_type"], node["kernel_name"]) == ("kernel", "aten::add_.Tensor")


def test_child_graph_is_listed_and_its_nodes_are_missed_aloud() -> None:
    graph, inner = captured(), captured()
    code, _ = ref.cudart().cudaGraphAddChildGraphNode(graph.raw_cuda_graph(), [], 0, inner.raw_cuda_graph())
    assert int(code) == 0
    graph.instantiate()
    with pytest.warns(UserWarning, match=r"1 nodes .*child_graph.* not listed") as warned:
        data = graph.get_graph_data()
    assert sorted(node["node_type"] for node in data["nodes"]) == ["child_graph", "kernel"]
    assert warned[0].filename == __file__


@pytest.mark.parametrize("keep_graph", [False, True])
@pytest.mark.parametrize("verbose", [True, False])
def test_export_dot_gives_a_capture_end_hook(tmp_path: Path, *, keep_graph: bool, verbose: bool) -> None:
    path = tmp_path / "graph.dot"
    hook = ref.export_dot(path, verbose=verbose)
    assert not path.exists()
    graph = captured(keep_graph=keep_graph, hook=lambda graph: graph.register_capture_end_hook(hook))
    drawing = read(path.read_text(encoding="utf-8"))
    assert len(drawing.nodes) == 1
    if keep_graph:
        again = tmp_path / "again.dot"
        graph.debug_dump(again, verbose=verbose)
        assert again.read_text(encoding="utf-8") == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("keep_graph", [False, True])
def test_export_graph_data_gives_a_post_instantiate_hook(tmp_path: Path, *, keep_graph: bool) -> None:
    path = tmp_path / "graph.pickle"
    hook = ref.export_graph_data(path)
    graph = captured(keep_graph=keep_graph, hook=lambda graph: graph.register_post_instantiate_hook(hook))
    assert path.exists() is not keep_graph
    if keep_graph:
        graph.instantiate()
    data = pickle.loads(path.read_bytes())  # noqa: S301  # written three lines above
    assert [node["node_type"] for node in data["nodes"]] == ["kernel"]
    if keep_graph:
        assert data == graph.get_graph_data()
