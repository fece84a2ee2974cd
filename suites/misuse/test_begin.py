"""capture_begin where a capture cannot begin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.adapter import Adapter
from conformance.checks import NotConforming, expect, expect_equal, expect_raises, is_refusal
from conformance.markers import requirement
from suites.misuse.programs import captured
from suites.support.captures import open_capture
from suites.support.outcomes import caught, in_words
from suites.support.programs import Affine
from suites.support.recovery import expect_capture, expect_eager_work


@requirement("misuse.begin-on-captured-graph")
def test_captured_graph(impl: Adapter) -> None:
    """A second capture into a graph that holds one is refused and changes nothing, or replaces the first."""
    first, second, stream = Affine(impl), Affine(impl, factor=5.0), impl.new_stream()
    with captured(impl, first) as graph:

        def capture() -> None:
            with open_capture(impl, graph, stream=stream):
                # Taking the call and then recording nothing would lose the work of a caller who trusts it.
                promise = "a capture into a graph that holds one works, or capture_begin refuses it"
                expect(impl.is_current_stream_capturing(), promise, "no error, and the stream is not capturing")
                second.body()
                graph.capture_end()

        error = caught(capture)
        if error is None:
            first.out.fill_(4.0)
            second.check(impl, graph, "a second capture that was accepted replaces the first")
            expect_equal(impl, first.out, 4.0, "a capture that was replaced runs no more")
            return
        if isinstance(error, NotConforming):
            raise error
        promise = "a capture into a graph that holds one works or is refused"
        expect(is_refusal(error), promise, in_words(error))
        first.check(impl, graph, "a graph whose second capture was refused replays the first")


@requirement("misuse.begin-on-captured-graph")
def test_stream_of_captured_graph(impl: Adapter) -> None:
    """Refused or not, the stream is not capturing afterwards, works, and takes another graph's capture."""
    stream = impl.new_stream()
    with captured(impl, Affine(impl)) as graph:
        with impl.stream(stream):
            if caught(lambda: impl.capture_begin(graph)) is None:
                impl.abort_capture(graph)
            left_capturing = impl.is_current_stream_capturing()
            if left_capturing:
                impl.abort_capture(graph)
        expect(not left_capturing, "a refused capture_begin begins nothing", "the stream is capturing")
        expect_eager_work(impl, stream, "after a refused capture_begin the stream runs ordinary work")
        expect_capture(impl, impl.new_graph(), "after a refused capture_begin another graph captures", stream=stream)


@requirement("misuse.begin-twice")
def test_begin_twice(impl: Adapter) -> None:
    """A graph captures once at a time."""
    graph, program = impl.new_graph(), Affine(impl)
    with open_capture(impl, graph):
        program.body()
        expect_raises("a second capture_begin of one graph is refused", lambda: impl.capture_begin(graph))


@requirement("misuse.begin-twice-elsewhere")
def test_begin_twice_elsewhere(impl: Adapter, observe: Callable[[str, Any], None]) -> None:
    """Records what a second capture_begin does where another stream is current, and what it makes of the first."""
    graph, program, other = impl.new_graph(), Affine(impl), impl.new_stream()
    with open_capture(impl, graph):
        program.body()
        with impl.stream(other):
            observe("second capture_begin", in_words(caught(lambda: impl.capture_begin(graph))))
            if impl.is_current_stream_capturing():
                impl.abort_capture(graph)
        observe("capture_end of the first capture", in_words(caught(graph.capture_end)))


@requirement("misuse.capture-survives-second-begin")
def test_capture_survives_second_begin(impl: Adapter) -> None:
    """The first capture ends, and replays what came before and after the refused call."""
    graph, program = impl.new_graph(), Affine(impl)
    promise = "a capture goes on after its graph's second capture_begin was refused"
    with open_capture(impl, graph):
        program.first_half()
        caught(lambda: impl.capture_begin(graph))
        program.second_half()
        ending = caught(graph.capture_end)
        expect(ending is None, promise, in_words(ending))
    program.check(impl, graph, promise)


@requirement("misuse.begin-on-capturing-stream")
def test_begin_on_capturing_stream(impl: Adapter) -> None:
    """A stream serves one capture at a time; the one under way ends and replays whole."""
    # One test for both: where this call ends the process it should do so once.
    first, second, program = impl.new_graph(), impl.new_graph(), Affine(impl)
    promise = "a capture goes on after another graph's capture_begin on its stream was refused"
    with open_capture(impl, first, second):
        program.first_half()
        expect_raises("a stream that captures takes no second capture", lambda: impl.capture_begin(second))
        program.second_half()
        ending = caught(first.capture_end)
        expect(ending is None, promise, in_words(ending))
    program.check(impl, first, promise)


@requirement("misuse.refused-graph-captures-later")
def test_refused_graph_captures_later(impl: Adapter) -> None:
    """The graph that was refused the stream has it once it is free."""
    first, second, program = impl.new_graph(), impl.new_graph(), Affine(impl)
    with open_capture(impl, first, second) as side:
        program.body()
        caught(lambda: impl.capture_begin(second))
        caught(first.capture_end)
    expect_capture(impl, second, "a graph that was refused a capturing stream captures later", stream=side)
