"""Templates written as dot files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import reference_impl.runtime as rt

from .software_kit import E, Work, capturing, code, empty, memset, memset_params, nodes, ok, stream

VERBOSE = rt.cudaGraphDebugDotFlags.cudaGraphDebugDotFlagsVerbose


def write(template: Any, path: Path, flags: int = 0) -> str:
    ok(rt.cudaGraphDebugDotPrint(template, str(path).encode(), flags))
    return path.read_text(encoding="utf-8")


def test_nodes_edges_and_names(tmp_path: Path) -> None:
    s = stream()
    with capturing(s) as templates:
        ok(rt.launchKernel(Work(lambda: None, 'add<float>("x")'), s))
        ok(rt.launchKernel(Work(lambda: None, "multiply"), s))
    text = write(templates[0], tmp_path / "graph.dot")
    name = f"graph_{ok(rt.cudaGraphGetId(templates[0]))}"
    assert text.startswith("digraph dot {\n")
    assert text.count("{") == text.count("}")
    assert 'add\\<float\\>(\\"x\\")' in text
    assert "multiply" in text
    assert f'"{name}_node_0" -> "{name}_node_1";' in text
    assert "node handle" not in text
    verbose = write(templates[0], tmp_path / "graph.dot", int(VERBOSE))
    for node in nodes(templates[0]):
        assert f"0x{node:016X}" in verbose


def test_child_graphs_and_parameters(tmp_path: Path) -> None:
    address, inner, outer = ok(rt.cudaMalloc(64)), ok(rt.cudaGraphCreate(0)), ok(rt.cudaGraphCreate(0))
    node = memset(inner, memset_params(address, 7))
    kind = rt.cudaMemcpyKind.cudaMemcpyDefault
    ok(rt.cudaGraphAddMemcpyNode1D(inner, [node], 1, address, address + 32, 16, kind))
    child = ok(rt.cudaGraphAddChildGraphNode(outer, None, 0, inner))
    empty(outer, child)
    mark = ok(rt.cudaEventCreate())
    ok(rt.cudaGraphAddEventRecordNode(outer, None, 0, mark))
    ok(rt.cudaGraphAddEventWaitNode(outer, None, 0, mark))
    text = write(outer, tmp_path / "graph.dot")
    assert text.count("subgraph cluster_") == 2
    for word in ("MEMSET\n(7,16)", "MEMCPY", "EMPTY", "EVENT_RECORD", "EVENT_WAIT"):
        assert word in text
    assert f"{address:016X}" not in text
    assert f"0x{address:016X}" in write(outer, tmp_path / "graph.dot", int(VERBOSE))
    only = rt.cudaGraphDebugDotFlags.cudaGraphDebugDotFlagsMemsetNodeParams
    assert f"0x{address:016X}" in write(outer, tmp_path / "graph.dot", int(only))


def test_every_child_graph_is_drawn(tmp_path: Path) -> None:
    outer, middle, inner = (ok(rt.cudaGraphCreate(0)) for _ in range(3))
    empty(inner)
    ok(rt.cudaGraphAddChildGraphNode(middle, None, 0, inner))
    for child in (middle, inner):
        ok(rt.cudaGraphAddChildGraphNode(outer, None, 0, child))
    assert write(outer, tmp_path / "graph.dot").count("subgraph cluster_") == 4


def test_path_that_cannot_be_written(tmp_path: Path) -> None:
    template = ok(rt.cudaGraphCreate(0))
    path = str(tmp_path / "missing" / "graph.dot").encode()
    assert code(rt.cudaGraphDebugDotPrint(template, path, 0)) == E.cudaErrorOperatingSystem
