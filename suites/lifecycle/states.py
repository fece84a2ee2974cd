"""States: beginnings that are refused, captures of nothing, other threads, and what refusals say."""

from __future__ import annotations

import contextlib
import warnings
from typing import TYPE_CHECKING, Any

from conformance.adapter import Adapter, in_thread
from conformance.checks import NotConforming, expect, expect_equal, expect_raises, is_refusal
from suites.lifecycle.scenarios import Scenarios, added
from suites.support.captures import capture_between, capture_into, open_capture, replay
from suites.support.outcomes import caught, in_words, judge
from suites.support.streams import begin_on_the_default_stream, side_stream
from suites.support.template import Template

if TYPE_CHECKING:
    import torch


def default_stream_first(impl: Adapter, graph: Any, tensor: torch.Tensor, number: int, before: list[list[int]]) -> None:
    """The capture is refused and nothing changes, or works; on a side stream the same graph captures."""
    if begin_on_the_default_stream(impl, graph) is None:
        abandon_on_the_default_stream(impl, graph, tensor, number, before)
    with side_stream(impl, impl.default_stream()):
        expect(not impl.is_current_stream_capturing(), "a refused capture_begin leaves no capture open", "one is open")
        tensor.add_(number)
        expect_equal(impl, tensor, on_the_host(impl, before) + number, "work after a refused capture_begin runs")
    capture_between(impl, graph, lambda: tensor.add_(number))


def abandon_on_the_default_stream(
    impl: Adapter, graph: Any, tensor: torch.Tensor, number: int, before: list[list[int]]
) -> None:
    """End and reset a capture that the default stream took: none of its work was done."""
    with impl.stream(impl.default_stream()):
        tensor.add_(number)
        graph.capture_end()
    expect_equal(impl, tensor, before, "a capture on the default stream runs nothing")
    graph.reset()


class DefaultStream(Scenarios):
    """Captures that are begun on the default stream."""

    def scenario(self, pick: int, number: int, *, flag: bool) -> None:
        """A graph is refused, and is as good as any afterwards."""
        cell, graph = self.cell(pick), self.vacant(flag)
        before = self.known(cell)
        self.step(default_stream_first, graph, cell, number, before)
        self.did(added(cell, number))
        self.holds(graph, added(cell, number))


def capture_nothing(impl: Adapter, graph: Any, *, block: bool) -> None:
    """Capture nothing, which may be warned of, and replay it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        capture = capture_into if block else capture_between
        capture(impl, graph, lambda: None)
    replay(impl, graph, 2)


def begin_again(impl: Adapter, graph: Any, tensor: torch.Tensor, number: int, contents: list[list[int]]) -> None:
    """Capture into a graph that holds another tensor's work: refused, or the new work replaces the old."""

    def capture() -> None:
        with open_capture(impl, graph):
            promise = "a capture into a graph that holds one works, or capture_begin refuses it"
            expect(impl.is_current_stream_capturing(), promise, "no error, and the stream is not capturing")
            tensor.add_(number)
            graph.capture_end()

    error = caught(capture)
    if isinstance(error, NotConforming):
        raise error
    promise = "a capture into a graph that holds one works or is refused"
    expect(error is None or is_refusal(error), promise, in_words(error))
    replay(impl, graph)
    promise = "a refused capture changes nothing, and one that is taken replaces what the graph held"
    expected = on_the_host(impl, contents) + (number if error is None else 0)
    expect_equal(impl, tensor, expected, promise)


def on_the_host(impl: Adapter, contents: list[list[int]]) -> torch.Tensor:
    """Rows of integers on the host."""
    return impl.read(impl.tensor(contents))


class Beginnings(Scenarios):
    """Captures of nothing, and captures into graphs that hold something."""

    def scenario(self, pick: int, number: int, *, flag: bool) -> None:
        """A graph captures nothing, then something; then it begins again."""
        graph = self.vacant(flag)
        self.step(capture_nothing, graph, block=flag)
        self.holds(graph, [])
        if graph.keep:
            graph.instantiated()
        self.reset_it(graph)
        cell, other = self.cell(pick), self.cell(pick + 1)
        self.fill_graph(graph, pick, number, 2)
        if flag:
            self.replay_it(graph)
        self.step(begin_again, graph, other, number, self.known(other))
        # Whichever of the two works it holds, it has changed tensors in a way that is left open.
        self.values[cell.name] = self.values[other.name] = None
        self.reset_it(graph)
        self.known(cell)
        self.known(other)


def replay_elsewhere(impl: Adapter, graph: Any, times: int) -> None:
    """Replay in another thread."""
    impl.synchronize()
    in_thread(lambda: replay(impl, graph, times))


class Threads(Scenarios):
    """Graphs that are replayed in other threads than the one that captured them."""

    def scenario(self, pick: int, number: int, *, flag: bool) -> None:
        """A graph is captured here, and replayed there and here."""
        graph = self.vacant(flag)
        self.fill_graph(graph, pick, number, 2)
        self.step(replay_elsewhere, graph, 1 + pick % 2)
        self.did(graph.work, 1 + pick % 2)
        if graph.keep:
            graph.instantiated()
        self.replay_it(graph)
        self.step(replay_elsewhere, graph, 1)
        self.did(graph.work)


def refusals_of_nothing(impl: Adapter, graph: Any, *, instantiate: bool) -> None:
    """Each call that a graph without a capture refuses says why."""
    del impl
    judge(graph.replay)
    if instantiate:
        judge(graph.instantiate)


class Messages(Scenarios):
    """Graphs that hold nothing, and say so."""

    def scenario(self, pick: int, number: int, *, flag: bool) -> None:
        """A graph is asked before its capture and after its reset."""
        graph = self.vacant(flag)
        instantiate = self.impl.owes("keep_graph")
        self.step(refusals_of_nothing, graph, instantiate=instantiate)
        if flag:
            self.fill_graph(graph, pick, number, 1)
            self.reset_it(graph)
            self.step(refusals_of_nothing, graph, instantiate=instantiate)


def instantiate_in_vain(impl: Adapter, graph: Any) -> None:
    """The template gets a circle, cannot be instantiated, and is repaired."""
    flag = impl.full(37, 0.0)
    template = Template(impl, graph)
    last = template.leaves()[0]
    node = template.add_memset(flag, 3.0, after=[last])
    circular = False
    # A runtime may refuse the edge that closes a circle; then there is nothing to look at.
    with contextlib.suppress(NotConforming):
        template.link(node, last)
        circular = True
    if circular:
        expect_raises("instantiate() of a template that cannot be instantiated is refused", graph.instantiate)
    error = caught(graph.replay)
    if circular:
        promise = "after an instantiate() that failed, replay runs the executable from before, or is refused"
        expect(error is None or is_refusal(error), promise, in_words(error))
        template.unlink(node, last)
    template.remove(node)
    if error is not None:
        graph.instantiate()
        graph.replay()
    impl.synchronize()


class FailedInstantiations(Scenarios):
    """Templates that cannot be instantiated for a while."""

    def scenario(self, pick: int, number: int, *, flag: bool) -> None:
        """A graph is instantiated, in vain, and again."""
        if self.impl.runtime is None:
            return
        graph = self.vacant(keep=True)
        self.fill_graph(graph, pick, number, 1 + pick % 2)
        self.instantiate_it(graph)
        self.step(instantiate_in_vain, graph)
        self.did(graph.work)
        if flag:
            self.instantiate_it(graph)
            self.replay_it(graph)
