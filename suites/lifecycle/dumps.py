"""Dumps: files of graphs, which show what is captured and change nothing."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.adapter import Adapter
from conformance.checks import expect, expect_no_raise, expect_raises
from suites.lifecycle.scenarios import Name, Scenarios, added
from suites.support.captures import capture_between, replay
from suites.support.dot import following
from suites.support.dumps import dump, dumped, enable, quiet
from suites.support.template import Template

if TYPE_CHECKING:
    import torch


def kept_graphs_dump(impl: Adapter, short: Any, long: Any, counts: tuple[int, int], *, edit: bool) -> None:
    """Dump two graphs of so many operators in a row each, twice, and to a place that is not there."""
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(2):
            for graph, count in zip((short, long), counts, strict=True):
                drawing = dumped(impl, graph, Path(folder) / f"{turn}_{count}.dot")
                nodes = len(drawing.nodes)
                expect(nodes >= 1, f"a dump shows the captured graph, here {count} operators", "no nodes")
                ordered = sum(len(following(drawing.edges, node)) for node in drawing.nodes)
                promise = "a dump shows the order of the work of one stream"
                expect(ordered == nodes * (nodes - 1) // 2, promise, f"{ordered} ordered pairs of {nodes} nodes")
                if edit:
                    expected = len(Template(impl, graph).nodes())
                    expect(nodes == expected, f"a dump shows the template's {expected} nodes", f"{nodes}")
        missing = Path(folder) / "missing" / "graph.dot"
        expect_raises("a path that cannot be written is reported", lambda: _quiet_dump(impl, short, missing))


def _quiet_dump(impl: Adapter, graph: Any, path: Path) -> None:
    with quiet():
        impl.debug_dump(graph, str(path))


def dump_without_template(impl: Adapter, graph: Any) -> None:
    """Dump a graph whose template is gone."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.dot"
        expect_raises("a dump needs a live template", lambda: _quiet_dump(impl, graph, path))
        expect(not path.exists(), "a refused dump writes nothing", "the file is there")


def debug_mode(impl: Adapter, graph: Any, tensor: torch.Tensor, number: int, *, handles: bool) -> None:
    """Capture in debug mode, dump, and replay twice, once before the dump and once after it."""
    with tempfile.TemporaryDirectory() as folder:
        with quiet():
            enable(graph)
            capture_between(impl, graph, lambda: tensor.add_(number))
        if handles and impl.dialect == "cuda":
            promise = "debug mode keeps the template as keep_graph=True does"
            expect_no_raise(promise, lambda: impl.raw_graph(graph))
        replay(impl, graph)
        dump(impl, graph, Path(folder) / "graph.dot", "a graph in debug mode can be dumped")
    replay(impl, graph)
    impl.reset(graph)


def unwritable_path(impl: Adapter, graph: Any, tensor: torch.Tensor, number: int) -> None:
    """Capture in debug mode, dump to a place that is not there, and replay."""
    with tempfile.TemporaryDirectory() as folder:
        with quiet():
            enable(graph)
            capture_between(impl, graph, lambda: tensor.add_(number))
        missing = Path(folder) / "missing" / "graph.dot"
        expect_raises("a path that cannot be written is reported", lambda: _quiet_dump(impl, graph, missing))
    replay(impl, graph)
    impl.reset(graph)


class Dumps(Scenarios):
    """Graphs that are dumped."""

    def scenario(self, pick: int, number: int, *, flag: bool) -> None:
        """Kept graphs are dumped, then one in debug mode."""
        del flag
        cell = self.cell(pick)
        if self.impl.dialect == "cuda" and self.impl.owes("keep_graph"):
            short, long = self.vacant(keep=True), self.vacant(keep=True)
            counts = (1 + pick % 2, 4)
            self.fill_graph(short, pick, number, counts[0])
            self.fill_graph(long, pick, number, counts[1])
            edit = self.impl.runtime is not None and self.impl.owes("template_editing")
            self.step(kept_graphs_dump, short, long, counts, edit=edit)
        if self.impl.dialect == "cuda":
            finished = self.vacant(keep=False)
            self.fill_graph(finished, pick, number, 2)
            self.step(dump_without_template, finished)
        handles = self.impl.owes("raw_handles")
        self._step_of_its_own(debug_mode, cell, number, handles=handles)
        self.did(added(cell, number), 2)
        self._step_of_its_own(unwritable_path, cell, number)
        self.did(added(cell, number))

    def _step_of_its_own(self, function: Callable[..., None], cell: Name, number: int, **settings: bool) -> None:
        """A step with a graph that the other rules do not get: debug mode stays."""
        graph = self.vacant()
        self.step(function, graph, cell, number, **settings)
        self._drop(self.graphs.index(graph))
