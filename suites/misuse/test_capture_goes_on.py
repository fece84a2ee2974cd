"""A call that is refused during a capture leaves the capture as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.adapter import Adapter
from conformance.checks import expect
from conformance.markers import requirement
from suites.support.captures import open_capture
from suites.support.outcomes import caught, in_words
from suites.support.programs import Affine


def expect_capture_goes_on(impl: Adapter, graph: Any, call: Callable[[], Any]) -> None:
    """Reject unless a capture around a `call` that is refused ends, and replays what came before and after it."""
    program = Affine(impl)
    promise = "a call that is refused during a capture leaves the capture as it was"
    with open_capture(impl, graph):
        program.first_half()
        refusal = caught(call)
        expect(impl.is_current_stream_capturing(), promise, f"not capturing any more, after {in_words(refusal)}")
        program.second_half()
        ending = caught(graph.capture_end)
        expect(ending is None, promise, f"capture_end raised {in_words(ending)}, after {in_words(refusal)}")
    program.check(impl, graph, promise)


@requirement("misuse.capture-survives-refused-call")
def test_replay(impl: Adapter) -> None:
    """A replay of the graph itself."""
    graph = impl.new_graph()
    expect_capture_goes_on(impl, graph, graph.replay)


@requirement("misuse.capture-survives-refused-call")
def test_end_with_unknown_argument(impl: Adapter) -> None:
    """A capture_end that is refused for an argument that no document names."""
    graph = impl.new_graph()
    expect_capture_goes_on(impl, graph, lambda: graph.capture_end(no_such_setting=1))


@requirement("misuse.capture-survives-refused-call")
def test_begin_with_unknown_argument(impl: Adapter) -> None:
    """A capture_begin of another graph that is refused for an argument that no document names."""
    graph, other = impl.new_graph(), impl.new_graph()
    expect_capture_goes_on(impl, graph, lambda: other.capture_begin(no_such_setting=1))
