"""Probes of what a class offers about the template and the executable."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_raises
from conformance.markers import requirement
from suites.declarations.programs import asked_since, judge_declaration, record
from suites.support.captures import replay
from suites.support.data import following
from suites.support.dumps import drawing_in, dump, enable, quiet
from suites.support.handles import launch, runtime_call
from suites.support.programs import SIZE, Affine, row_of_operators
from suites.support.template import Template

Observe = Callable[[str, Any], None]


def _graph(impl: Adapter, *, keep_graph: bool | None = None) -> tuple[Any, Affine]:
    """A graph holding a program, and the program."""
    graph, program = impl.new_graph(keep_graph), Affine(impl)
    record(impl, graph, program.body)
    return graph, program


@requirement("declarations.keep-graph")
def test_keep_graph(impl: Adapter, observe: Observe) -> None:
    """A kept template becomes an executable at instantiate(), twice, or at the first replay."""

    def probe() -> None:
        promise = "a graph replays its work whether or not it keeps its template"
        other, program = _graph(impl, keep_graph=False)
        program.check(impl, other, promise)
        lazy, program = _graph(impl, keep_graph=True)
        program.check(impl, lazy, promise)
        kept, program = _graph(impl, keep_graph=True)
        for _ in range(2):
            kept.instantiate()
            program.check(impl, kept, promise)
        expect(_differ(impl, kept, other), "keep_graph=True keeps the template", "nothing shows that it does")

    judge_declaration(impl, "keep_graph", probe, observe)


def _differ(impl: Adapter, kept: Any, other: Any) -> bool:
    """Whether only the first of two graphs gives its template away, or only it can be instantiated by the user."""
    return (_accepts(lambda: impl.raw_graph(kept)) and not _accepts(lambda: impl.raw_graph(other))) or (
        _accepts(kept.instantiate) and not _accepts(other.instantiate)
    )


def _accepts(call: Callable[[], Any]) -> bool:
    with contextlib.suppress(Exception):
        call()
        return True
    return False


@requirement("declarations.raw-handles")
def test_raw_handles(impl: Adapter, observe: Observe) -> None:
    """Each graph has handles of its own while there is something behind them, which the runtime knows."""

    def probe() -> None:
        expect_raises("a template that is not kept has no handle", lambda: impl.raw_graph(_graph(impl)[0]))
        graphs = [_graph(impl, keep_graph=True)[0] for _ in range(2)]
        _check_handles([impl.raw_graph(graph) for graph in graphs])
        if impl.runtime is not None:
            for graph in graphs:
                expect(Template(impl, graph).nodes(), "the runtime finds the captured work", "no nodes")
        if asked_since(impl, "2.9"):
            _check_executables(impl, graphs)

    judge_declaration(impl, "raw_handles", probe, observe)


def _check_handles(handles: list[int]) -> None:
    fine = 0 not in handles and len(set(handles)) == len(handles)
    expect(fine, "each live graph has a handle of its own", f"{handles}")


def _check_executables(impl: Adapter, graphs: list[Any]) -> None:
    expect_raises("what is not instantiated has no executable's handle", lambda: impl.raw_exec(graphs[0]))
    for graph in graphs:
        graph.instantiate()
    handles = [impl.raw_exec(graph) for graph in graphs]
    _check_handles(handles)
    replay(impl, graphs[0])
    expect(impl.raw_exec(graphs[0]) == handles[0], "replays keep the executable", "another handle")
    if impl.dialect != "cuda" or impl.runtime is None:
        return
    graph, program = _graph(impl)
    launch(impl, impl.raw_exec(graph))
    expect_equal(impl, program.out, 7.0, "launching an executable by its handle does what a replay does")


@requirement("declarations.template-editing")
def test_template_editing(impl: Adapter, observe: Observe) -> None:
    """A memset that is added behind the captured work runs from the next instantiate() on."""

    def probe() -> None:
        if impl.runtime is None:
            raise NotImplementedError("the adapter names no runtime to edit templates with")
        graph, program = _graph(impl, keep_graph=True)
        mark = impl.full(SIZE, 0.0)
        program.check(impl, graph, "a template is replayed as it was captured")
        template = Template(impl, graph)
        template.add_memset(mark, 5.0, after=template.leaves())
        replay(impl, graph)
        expect_equal(impl, mark, 0.0, "an edit does not reach replays before instantiate()")
        graph.instantiate()
        program.check(impl, graph, "an edit leaves the other nodes in place")
        expect_equal(impl, mark, 5.0, "after instantiate() replays have the edit")
        nodes = template.nodes()
        runtime_call(impl, "cudaGraphDestroyNode", nodes[-1])
        expect(
            len(template.nodes()) == len(nodes) - 1, "a node can be removed", f"{len(template.nodes())} nodes are left"
        )

    judge_declaration(impl, "template_editing", probe, observe)


@requirement("declarations.debug-dump")
def test_debug_dump(impl: Adapter, tmp_path: Path, observe: Observe) -> None:
    """A graph in debug mode replays, and is written to a file."""

    def probe() -> None:
        graph, program = impl.new_graph(), Affine(impl)
        path = tmp_path / "probe.dot"
        with quiet():
            enable(graph)
            record(impl, graph, program.body)
        dump(impl, graph, path, "a graph in debug mode can be dumped")
        if impl.dialect == "cuda" and asked_since(impl, "2.14"):
            expect(drawing_in(path).nodes, "the dump shows the captured work", "no nodes")
            dump(impl, graph, tmp_path / "brief.dot", "a dump can be brief", verbose=False)
        program.check(impl, graph, "a graph in debug mode replays")

    judge_declaration(impl, "debug_dump", probe, observe)


_KEYS = ("index", "node_type", "tools_id", "graph_id", "node_id", "kernel_name", "dependencies", "dependents")


@requirement("declarations.graph-data")
def test_graph_data(impl: Adapter, observe: Observe) -> None:
    """The data of work on one stream are a chain of nodes with ids of their own."""

    def probe() -> None:
        graph = impl.new_graph(True)
        record(impl, graph, row_of_operators(impl))
        expect_raises("there are no data before an instantiate()", graph.get_graph_data)
        graph.instantiate()
        data = graph.get_graph_data()
        nodes = [{key: node[key] for key in _KEYS} for node in data["nodes"]]
        expect(nodes, "the captured work is there", "no nodes")
        # Drivers before CUDA 13.1 number no nodes: then there are no ids, or all are alike.
        expect(len({node["tools_id"] for node in nodes}) == len(nodes), "each node has an id", f"{nodes}")
        own = all(node["graph_id"] == data["exec_graph_id"] != 0 for node in nodes)
        expect(own, "the nodes are the executable's", f"{data['exec_graph_id']}: {nodes}")
        expect([node["index"] for node in nodes] == [*range(len(nodes))], "the index is the position", f"{nodes}")
        after = following(data)
        linked = all(two in after[one] or one in after[two] for one, two in combinations(range(len(nodes)), 2))
        expect(linked, "work of one stream is a chain", f"{nodes}")

    judge_declaration(impl, "graph_data", probe, observe)
