"""Settings that are a dialect's own: the constructor's of the accelerator's graphs, debug mode of the XPU's."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.adapter import Adapter
from conformance.checks import expect, expect_no_raise, is_refusal
from suites.lifecycle.scenarios import Scenarios, added
from suites.support.captures import capture_between, replay
from suites.support.dumps import dump, enable, quiet
from suites.support.handles import exec_handle, expect_no_handle
from suites.support.outcomes import caught, in_words
from suites.support.streams import side_stream, stream_kept

if TYPE_CHECKING:
    import torch


def pool_lasts(impl: Adapter, tensor: torch.Tensor, number: int, pool: Any) -> None:
    """A graph made with a pool captures into it, is reset, and captures into it again."""
    graph, holder = impl.graph_class(pool=pool), impl.graph_class(pool=pool)
    for captured in (holder, graph):
        capture_between(impl, captured, lambda: tensor.add_(number))
    for _ in range(2):
        replay(impl, graph)
        impl.reset(graph)
        capture_between(impl, graph, lambda: tensor.add_(number))
    replay(impl, graph)


def mode_lasts(impl: Adapter, tensor: torch.Tensor) -> None:
    """A graph made with a mode that there is not is refused at construction, at each capture, or at none."""
    graphs: list[Any] = []
    if caught(lambda: graphs.append(impl.graph_class(capture_error_mode="bogus"))) is not None:
        return
    outcomes = []
    for _ in range(2):
        with side_stream(impl):
            outcomes.append(caught(graphs[0].capture_begin))
            if outcomes[-1] is None:
                tensor.add_(1)
                impl.abort_capture(graphs[0])
                graphs[0].reset()
    promise = "what is given at construction holds for every capture: each refuses an unknown mode, or none"
    alike = (outcomes[0] is None) == (outcomes[1] is None)
    expect(alike, promise, "; ".join(in_words(outcome) for outcome in outcomes))


def capture_where_it_begins(impl: Adapter, tensor: torch.Tensor, number: int, first: Any, second: Any) -> None:
    """A graph that was made while one stream was current captures on another, and then, reset, on the first."""
    with side_stream(impl, first):
        graph = impl.graph_class()
    for turn, (stream, other) in enumerate(((second, first), (first, second))):
        with side_stream(impl, stream):
            if turn == 0:
                with graph:
                    capturing = impl.is_current_stream_capturing()
                    tensor.add_(number)
            else:
                graph.capture_begin()
                capturing = impl.is_current_stream_capturing()
                tensor.add_(number)
                graph.capture_end()
        expect(capturing, "the stream that is current when the capture begins is captured", "it is not")
        with impl.stream(other):
            capturing = impl.is_current_stream_capturing()
        expect(not capturing, "no other stream is captured", "the other one is")
        replay(impl, graph, 2)
        impl.reset(graph)


def block_that_raises(impl: Adapter, tensor: torch.Tensor, number: int, stream: Any) -> None:
    """The body of a graph's own block raises; the block is over, and the graph can be reset and captured again."""
    graph = impl.graph_class()
    raised = LookupError("from the body")

    def block() -> None:
        with impl.stream(stream), graph:
            tensor.add_(number)
            raise raised

    with stream_kept(impl):
        error = caught(block)
    expect(error is raised, "what the body raises reaches the caller as it is", in_words(error))
    with impl.stream(stream):
        capturing = impl.is_current_stream_capturing()
        if capturing:
            impl.abort_capture(graph)
    expect(not capturing, "when a block is left, its capture is over", "its stream captures")
    impl.reset(graph)
    with side_stream(impl, stream), graph:
        tensor.add_(number)
    replay(impl, graph)


class Constructed(Scenarios):
    """The accelerator's graphs, made with a pool, a mode, or on a stream."""

    def scenario(self, pick: int, number: int, *, flag: bool) -> None:
        """Graphs of the scenario's own come and go besides those of the other rules."""
        del flag
        cell, first, second = self.cell(pick), self.stream(pick), self.stream(pick + 1)
        if self.impl.owes("pools"):
            token, _ = self.handle()
            self.step(pool_lasts, cell, number, token)
            self.did(added(cell, number), 3)
        self.step(capture_where_it_begins, cell, number, first, second)
        self.did(added(cell, number), 4)
        self.step(block_that_raises, cell, number, first)
        self.did(added(cell, number))
        if self.impl.owes("capture_modes"):
            self.step(mode_lasts, cell)


def enter_again(impl: Adapter, tensor: torch.Tensor, number: int) -> None:
    """A graph is entered inside its own block: refused, and the capture goes on."""
    graph = impl.graph_class()
    with side_stream(impl):
        graph.capture_begin()
        try:
            tensor.add_(number)
            entry = caught(graph.__enter__)
            later = caught(lambda: tensor.add_(number))
        finally:
            ending = caught(graph.capture_end)
            if impl.is_current_stream_capturing():
                impl.abort_capture(graph)
    expect(is_refusal(entry), "a graph that is capturing cannot be entered again", in_words(entry))
    seen = f"later work: {in_words(later)}; capture_end: {in_words(ending)}"
    expect(later is None and ending is None, "the refused entry leaves the capture intact", seen)
    replay(impl, graph)


class EnteredAgain(Scenarios):
    """The accelerator's graphs, entered twice."""

    def scenario(self, pick: int, number: int, *, flag: bool) -> None:
        """A graph is entered again, and replays."""
        del flag
        cell = self.cell(pick)
        self.step(enter_again, cell, number)
        self.did(added(cell, number), 2)


def debug_mode_beside_keep_graph(
    impl: Adapter, tensor: torch.Tensor, number: int, *, keep: bool, handles: bool
) -> None:
    """In debug mode a graph has the handles that keep_graph gives it, and no others; it dumps and replays."""
    graph = impl.new_graph(keep)
    with tempfile.TemporaryDirectory() as folder:
        with quiet():
            enable(graph)
            capture_between(impl, graph, lambda: tensor.add_(number))
        if keep and handles:
            expect_no_raise("with keep_graph=True the template's handle can be read", lambda: impl.raw_graph(graph))
            promise = "with keep_graph=True the executable's handle needs an instantiate(), in debug mode too"
            expect_no_handle(promise, lambda: exec_handle(impl, graph))
        elif handles:
            promise = "the template's handle needs keep_graph=True, in debug mode too"
            expect_no_handle(promise, lambda: impl.raw_graph(graph))
            promise = "without keep_graph capture_end makes the executable, in debug mode too"
            expect_no_raise(promise, lambda: exec_handle(impl, graph))
        dump(impl, graph, Path(folder) / "graph.dot", "a graph in debug mode can be dumped")
    replay(impl, graph, 2)


class Debugged(Scenarios):
    """The XPU's graphs in debug mode."""

    def scenario(self, pick: int, number: int, *, flag: bool) -> None:
        """Graphs with and without keep_graph are captured, dumped and replayed."""
        cell = self.cell(pick)
        handles = self.impl.owes("raw_handles")
        for keep in (flag, not flag):
            self.step(debug_mode_beside_keep_graph, cell, number, keep=keep, handles=handles)
            self.did(added(cell, number), 2)
