"""Phases: captures that end with capture_end_pre and capture_end_post."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_no_raise, expect_raises
from suites.lifecycle.scenarios import Scenarios, added
from suites.support.captures import open_capture
from suites.support.handles import exec_handle, expect_no_handle
from suites.support.phases import capture_pre, finish
from suites.support.template import Template

if TYPE_CHECKING:
    import torch


def phases(
    impl: Adapter,
    graph: Any,
    tensor: torch.Tensor,
    number: int,
    before: list[list[int]],
    *,
    keep: bool,
    handles: bool,
    edit: bool,
) -> None:
    """End a capture in two phases, and look at the graph between and behind them."""
    with open_capture(impl, graph):
        tensor.add_(number)
        graph.capture_end_pre()
        capturing = impl.is_current_stream_capturing()
    expect(not capturing, "capture_end_pre ends the capture", "the stream is still capturing")
    expect_equal(impl, tensor, before, "capture_end_pre does not run the captured work")
    between = 0
    if handles:
        promise = "between the phases the template's handle can be read"
        between = expect_no_raise(promise, lambda: impl.raw_graph(graph))
        promise = "capture_end_pre makes no executable whose handle could be read"
        expect_no_handle(promise, lambda: exec_handle(impl, graph))
    if edit:
        nodes = len(Template(impl, graph).nodes())
        expect(nodes >= 1, "between the phases the template holds the captured work", f"{nodes} nodes")
    finish(graph, keep_graph=keep)
    if handles and keep:
        promise = "with keep_graph=True capture_end_post keeps the template"
        after = expect_no_raise(promise, lambda: impl.raw_graph(graph))
        expect(after == between, promise, f"the handle {between} became {after}")
    elif handles:
        expect_no_handle("with keep_graph=False capture_end_post destroys the template", lambda: impl.raw_graph(graph))
    impl.synchronize()
    # Who makes the executable between the phases, and whether by a replay, is left open.
    tensor.copy_(impl.tensor(before, tensor.dtype))


class Phases(Scenarios):
    """Graphs whose captures end in two phases."""

    def scenario(self, pick: int, number: int, *, flag: bool) -> None:
        """A graph goes through both phases, and is as good as any afterwards."""
        cell = self.cell(pick)
        before = self.known(cell)
        handles = self.impl.owes("raw_handles")
        edit = self.impl.runtime is not None and self.impl.owes("template_editing")
        for keep in (flag, not flag):
            graph = self.vacant(keep=keep)
            self.step(phases, graph, cell, number, before, keep=keep, handles=handles, edit=edit)
            self.holds(graph, added(cell, number))


def first_phase_again(impl: Adapter, graph: Any, tensor: torch.Tensor, number: int, *, keep: bool) -> None:
    """Call capture_end_pre where no capture is underway: twice, and on a graph that holds a capture already."""
    capture_pre(impl, graph, lambda: tensor.add_(number))
    promise = "capture_end_pre needs a capture underway"
    with impl.stream(impl.new_stream()):
        expect_raises(promise, graph.capture_end_pre)
    expect_no_raise("a second capture_end_pre changes nothing", lambda: finish(graph, keep_graph=keep))
    with impl.stream(impl.new_stream()):
        expect_raises(promise, graph.capture_end_pre)
    graph.reset()
    with impl.stream(impl.new_stream()):
        expect_raises(promise, graph.capture_end_pre)


class PhasesOutOfPlace(Scenarios):
    """First phases without a capture."""

    def scenario(self, pick: int, number: int, *, flag: bool) -> None:
        """A graph refuses what is out of its place."""
        cell = self.cell(pick)
        before = self.known_values(cell)
        self.step(first_phase_again, self.vacant(keep=flag), cell, number, keep=flag)
        self.write(cell.name, before)
