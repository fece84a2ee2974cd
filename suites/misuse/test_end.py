"""capture_end where there is no capture of the graph's to end."""

from __future__ import annotations

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect, expect_raises
from conformance.markers import requirement
from suites.misuse.programs import State, captured, failed, in_states, instantiated, name, new, reset, template
from suites.support.captures import open_capture
from suites.support.outcomes import caught, in_words
from suites.support.programs import Affine
from suites.support.recovery import expect_capture, expect_eager_work
from suites.support.streams import side_stream


@requirement("misuse.end-without-begin")
@pytest.mark.parametrize("where", ["side-stream", "default-stream"])
@in_states(new, reset)
def test_end_without_begin(impl: Adapter, state: State, where: str) -> None:
    """Refused wherever it is called."""
    stream = impl.new_stream() if where == "side-stream" else impl.default_stream()
    with state(impl, Affine(impl)) as graph, impl.stream(stream):
        expect_raises("capture_end without a capture_begin is refused", graph.capture_end)


@requirement("misuse.end-without-begin")
def test_on_the_stream_of_the_constructor(impl: Adapter) -> None:
    """Refused also on the stream that was current when the graph was made, which a graph may remember."""
    with side_stream(impl):
        graph = impl.new_graph()
        expect_raises("capture_end without a capture_begin is refused", graph.capture_end)


@requirement("misuse.end-without-begin")
def test_usable_afterwards(impl: Adapter) -> None:
    """The refused call leaves the stream working and the graph able to capture."""
    graph, stream = impl.new_graph(), impl.new_stream()
    with side_stream(impl, stream):
        caught(graph.capture_end)
    expect_eager_work(impl, stream, "after a refused capture_end the stream runs ordinary work")
    expect_capture(impl, graph, "after a refused capture_end the graph captures", stream=stream)


@requirement("misuse.end-twice")
def test_end_twice(impl: Adapter) -> None:
    """A capture ends once."""
    graph, program = impl.new_graph(), Affine(impl)
    with open_capture(impl, graph):
        program.body()
        graph.capture_end()
        expect_raises("a second capture_end is refused", graph.capture_end)


@requirement("misuse.end-twice-keep-graph")
@in_states(template, instantiated)
def test_end_twice_keep_graph(impl: Adapter, state: State) -> None:
    """A capture whose template is kept ends once, too."""
    with state(impl, Affine(impl)) as graph, side_stream(impl):
        expect_raises(f"a second capture_end is refused in the state {name(state)!r}", graph.capture_end)


@requirement("misuse.end-after-failure")
def test_end_after_failure(impl: Adapter) -> None:
    """A capture whose end failed has ended."""
    with failed(impl, Affine(impl)) as graph, side_stream(impl):
        expect_raises("a second capture_end is refused after one that failed", graph.capture_end)


@requirement("misuse.graph-survives-second-end")
def test_graph_survives_second_end(impl: Adapter) -> None:
    """The captured graph is there after the refused calls."""
    program = Affine(impl)
    with captured(impl, program) as graph:
        with side_stream(impl):
            caught(graph.capture_end)
        for _ in range(4):
            caught(graph.capture_end)
        program.check(impl, graph, "a graph whose second capture_end was refused replays")


@requirement("misuse.end-of-anothers-capture")
def test_anothers_capture_refused(impl: Adapter) -> None:
    """A graph that began nothing ends nothing."""
    owner, program = impl.new_graph(), Affine(impl)
    with open_capture(impl, owner):
        program.body()
        stranger = impl.new_graph()  # here, because a graph may remember the stream that was current then
        expect_raises("a graph that began no capture cannot end another graph's", stranger.capture_end)


@requirement("misuse.end-of-anothers-capture")
def test_anothers_capture_survives(impl: Adapter) -> None:
    """The owner ends its capture and replays it."""
    owner, program = impl.new_graph(), Affine(impl)
    promise = "a capture goes on after another graph's capture_end on its stream"
    with open_capture(impl, owner):
        program.first_half()
        caught(impl.new_graph().capture_end)
        expect(impl.is_current_stream_capturing(), promise, "the stream is not capturing any more")
        program.second_half()
        ending = caught(owner.capture_end)
        expect(ending is None, promise, in_words(ending))
    program.check(impl, owner, promise)
