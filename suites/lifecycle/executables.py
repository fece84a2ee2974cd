"""Raw handles in use: what they are, and what the runtime finds and launches behind them."""

from __future__ import annotations

from typing import Any

from conformance.adapter import Adapter
from conformance.checks import expect, expect_no_raise
from suites.lifecycle.scenarios import Scenarios
from suites.support.handles import exec_handle, launch, template_handle
from suites.support.template import Template


def template_in_use(impl: Adapter, graph: Any, *, edit: bool) -> None:
    """Read the template's handle, and look for nodes behind it."""
    expect_no_raise("a kept template has a handle", lambda: template_handle(impl, graph))
    if edit:
        expect(Template(impl, graph).nodes(), "the template holds the captured work", "no nodes")


def executable_in_use(impl: Adapter, graph: Any, *, edit: bool) -> None:
    """Read the executable's handle, and launch what is behind it."""
    handle = expect_no_raise("an executable has a handle", lambda: exec_handle(impl, graph))
    if edit:
        launch(impl, handle)


class Executables(Scenarios):
    """Graphs whose handles are used."""

    def scenario(self, pick: int, number: int, *, flag: bool) -> None:
        """A graph is captured, instantiated, instantiated again, reset and captured again."""
        edit = self.impl.runtime is not None and self.impl.owes("template_editing")
        graph = self.vacant(keep=True)
        for count in (3, 1):
            self.fill_graph(graph, pick, number, count)
            self.step(template_in_use, graph, edit=edit)
            for _ in range(2):
                self.instantiate_it(graph)
                self.step(executable_in_use, graph, edit=edit)
                self.did(graph.work, int(edit))
            self.reset_it(graph)
        finished = self.vacant(keep=False)
        self.fill_graph(finished, pick, number, 2)
        self.step(executable_in_use, finished, edit=edit)
        self.did(finished.work, int(edit))
        if flag:
            self.replay_it(finished)
