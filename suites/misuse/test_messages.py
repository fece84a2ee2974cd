"""What refused calls say."""

from __future__ import annotations

from pathlib import Path

from conformance.adapter import Adapter
from conformance.markers import requirement
from suites.misuse.calls import in_each_state, refusal
from suites.misuse.programs import State, captured, in_states, new, new_keep, reset, reset_keep
from suites.support.captures import open_capture
from suites.support.outcomes import judge, judge_message
from suites.support.programs import Affine
from suites.support.streams import side_stream


@requirement("misuse.messages")
@in_states(new, reset)
def test_replay(impl: Adapter, state: State) -> None:
    """A replay of nothing."""
    with state(impl, Affine(impl)) as graph:
        judge(graph.replay)


@requirement("misuse.messages")
def test_end_on_other_stream(impl: Adapter) -> None:
    """A capture_end on a stream that does not capture."""
    graph, program, other = impl.new_graph(), Affine(impl), impl.new_stream()
    with open_capture(impl, graph):
        program.body()
        with impl.stream(other):
            judge(graph.capture_end)


@requirement("misuse.messages-keep-graph")
@in_states(new_keep, reset_keep)
def test_instantiate(impl: Adapter, state: State) -> None:
    """An instantiate of nothing."""
    with state(impl, Affine(impl)) as graph:
        judge(graph.instantiate)


@requirement("misuse.messages-of-a-stray-end")
@in_states(new, captured, reset)
def test_stray_end(impl: Adapter, state: State) -> None:
    """A capture_end without a capture."""
    with state(impl, Affine(impl)) as graph, side_stream(impl):
        judge(graph.capture_end)


@requirement("misuse.messages-of-any-refusal")
@in_each_state()
def test_any_call(impl: Adapter, key: str, state: State, tmp_path: Path) -> None:
    """Each call that a state does not allow, in each such state, where it is refused."""
    error = refusal(impl, key, state, tmp_path)
    if error is not None:
        judge_message(error)
