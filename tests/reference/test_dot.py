"""The reference's dumps, drawn by Graphviz, which finds what get_graph_data and the suites' own reader find."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import reference_impl as ref
from suites.support.dot import NotDot, read

DOT = shutil.which("dot")

pytestmark = pytest.mark.skipif(DOT is None, reason="Graphviz's dot is not installed")


def empty() -> None:
    """No work at all."""


def row() -> None:
    x = ref.tensor([1.0, 2.0, 3.0])
    for _ in range(4):
        x.add_(1)


def two_branches() -> None:
    x, y = ref.tensor([1.0, 2.0, 3.0]), ref.tensor([[1.0], [2.0]])
    main, side = ref.current_stream(), ref.Stream()
    x.add_(1)
    side.wait_stream(main)
    x.mul_(2)
    with ref.stream(side):
        y.mul_(3)
        y.clone()
    main.wait_stream(side)
    y.add_(4)


@pytest.mark.filterwarnings("ignore:The CUDA Graph is empty")
@pytest.mark.parametrize("verbose", [True, False], ids=["verbose", "brief"])
@pytest.mark.parametrize("program", [empty, row, two_branches])
def test_drawn_by_graphviz(program: Callable[[], None], verbose: bool, tmp_path: Path) -> None:
    graph = ref.CUDAGraph(keep_graph=True)
    with ref.graph(graph):
        program()
    graph.instantiate()
    path = tmp_path / "graph.dot"
    graph.debug_dump(path, verbose=verbose)

    assert DOT is not None
    drawn = subprocess.run([DOT, "-Tsvg", path], capture_output=True, check=False)
    assert drawn.returncode == 0, drawn.stderr.decode()
    assert not drawn.stderr, drawn.stderr.decode()
    counts = tuple(drawn.stdout.count(f'class="{kind}"'.encode()) for kind in ("node", "edge"))

    nodes = graph.get_graph_data()["nodes"]
    edges = sum(len(node["dependencies"]) for node in nodes)
    assert counts == (len(nodes), edges)
    drawing = read(path.read_text(encoding="utf-8"))
    assert (len(drawing.nodes), len(drawing.edges)) == (len(nodes), edges)
    assert bool(nodes) is (program is not empty)
    graph.reset()


@pytest.mark.parametrize(
    "text",
    [
        "digraph {}",
        'strict digraph "a b" { a -> b -> c; c -> a }',
        'digraph g { rankdir = LR; node [shape=box, color="red"]; a [label="x\\"y\nz"]; a -> {b; c} [weight=2] }',
        "digraph { subgraph cluster_0 { label=<<b>bold</b>>; 1; 2 } 1:p:n -> 2 /* edge */ // and more\n }",
        'digraph { "a" + "b" -> c; edge [dir=back]; graph [ratio=1]; subgraph { x y } -> z }',
    ],
)
def test_reader_agrees_with_graphviz(text: str) -> None:
    assert DOT is not None
    drawn = subprocess.run([DOT, "-Tplain"], input=text.encode(), capture_output=True, check=True)
    words = Counter(line.split()[0] for line in drawn.stdout.decode().splitlines())
    drawing = read(text)
    assert (len(drawing.nodes), len(drawing.edges)) == (words["node"], words["edge"])


@pytest.mark.parametrize(
    "text", ["", "digraph {", "digraph { a -> }", 'digraph { a [label="x] }', "a -> b", "digraph { ] }"]
)
def test_reader_refuses_what_graphviz_refuses(text: str) -> None:
    assert DOT is not None
    drawn = subprocess.run([DOT, "-Tplain"], input=text.encode(), capture_output=True, check=False)
    assert drawn.returncode != 0 or not drawn.stdout
    with pytest.raises(NotDot):
        read(text)
