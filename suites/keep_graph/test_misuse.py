"""Calls in states that do not have what they need, and captures into a graph that already holds one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect, expect_no_raise, expect_raises, is_refusal
from conformance.markers import requirement
from suites.support.captures import capture_into, replay
from suites.support.outcomes import caught, in_words, refusal
from suites.support.programs import Counter
from suites.support.states import HELD_STATES, graph_in_state, runs_so_far
from suites.support.streams import side_stream

#: What a graph that holds nothing refuses.  That instantiate() is called at all takes a kept template.
EACH_CALL = pytest.mark.parametrize(
    ("name", "keep_graph"),
    [
        pytest.param("replay", False, id="replay-not-kept"),
        pytest.param("replay", True, id="replay-kept"),
        pytest.param("instantiate", True, id="instantiate-kept"),
    ],
)


@requirement("keep-graph.refused-before-capture")
@EACH_CALL
def test_refused_before_capture(impl: Adapter, name: str, *, keep_graph: bool) -> None:
    """A graph that holds nothing can be neither replayed nor instantiated; asking does no harm."""
    counter = Counter(impl)
    graph = impl.new_graph(keep_graph)
    for _ in range(2):
        expect_raises(f"{name}() needs a capture", getattr(graph, name))
    capture_into(impl, graph, counter.body)
    counter.expect_runs(0, "a capture runs nothing")
    replay(impl, graph, 3)
    counter.expect_runs(3, "a refused call leaves the graph ready for its first capture")


@requirement("keep-graph.refused-while-capturing")
@EACH_CALL
def test_refused_while_capturing(impl: Adapter, name: str, *, keep_graph: bool) -> None:
    """A graph cannot be replayed or instantiated inside its own capture; asking does not spoil the capture."""
    counter = Counter(impl)
    graph = impl.new_graph(keep_graph)
    outcome: list[tuple[bool, str]] = []

    def body() -> None:
        counter.body()
        outcome.append(refusal(getattr(graph, name)))
        counter.body()

    expect_no_raise(f"a refused {name}() leaves the capture under way intact", lambda: capture_into(impl, graph, body))
    refused, seen = outcome[0]
    expect(refused, f"{name}() inside the graph's own capture is refused", seen)
    replay(impl, graph, 3)
    counter.expect_runs(6, "the capture has the work before and after the refused call")


@requirement("keep-graph.recapture-is-clean")
@pytest.mark.parametrize("state", HELD_STATES)
def test_recapture_without_reset(impl: Adapter, state: str) -> None:
    """A capture into a graph that holds one is refused and changes nothing, or replaces it completely."""
    old, new = Counter(impl), Counter(impl, step=10.0)
    graph = graph_in_state(impl, state, old)
    before = runs_so_far(state)
    accepted = _recapture(impl, graph, new)
    replay(impl, graph, 3)
    if accepted:
        old.expect_runs(before, "a capture that was accepted replaces the one before it")
        new.expect_runs(3, "a capture that was accepted replaces the one before it")
    else:
        old.expect_runs(before + 3, "a refused capture leaves the graph as it was")
        new.expect_runs(0, "a refused capture records nothing")


@requirement("keep-graph.recapture-policy")
@pytest.mark.parametrize("state", HELD_STATES)
def test_recapture_policy_is_recorded(impl: Adapter, state: str, observe: Callable[[str, Any], None]) -> None:
    """Whether a graph that holds a capture takes another without reset() is recorded, not judged."""
    graph, stream = graph_in_state(impl, state, Counter(impl)), impl.new_stream()
    impl.synchronize()
    with impl.stream(stream):
        error = caught(lambda: impl.capture_begin(graph))
        if impl.is_current_stream_capturing():
            impl.abort_capture(graph)
    observe(f"recapture when {state}", "accepted" if error is None else f"refused: {in_words(error)}")


def _recapture(impl: Adapter, graph: Any, counter: Counter) -> bool:
    """Try to capture into a graph that holds a capture; return whether it was accepted."""
    impl.synchronize()
    with side_stream(impl):
        try:
            impl.capture_begin(graph)
        except Exception as error:
            expect(is_refusal(error), "a capture into a graph that holds one works or is refused", in_words(error))
            expect(
                not impl.is_current_stream_capturing(),
                "a refused capture_begin leaves no capture under way",
                "the current stream is capturing",
            )
            return False
        try:
            counter.body()
        finally:
            graph.capture_end()
    return True
