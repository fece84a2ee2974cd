"""What kind of exception refuses a call: one requirement for the refusals of all areas, whose own take any kind."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect
from conformance.markers import requirement
from suites.misuse.calls import begin, in_each_state, refusal, require
from suites.misuse.programs import State, captured, in_states, name, new
from suites.support.captures import capture_between
from suites.support.captures import captured as captured_graph
from suites.support.disturbances import attempt, device_synchronize, host_read
from suites.support.outcomes import caught, in_words
from suites.support.programs import SIZE, Affine
from suites.support.streams import stream_kept

STATE = (RuntimeError,)
ARGUMENT = (RuntimeError, TypeError, ValueError)
#: torch's own function asserts what it is given.
GRAPHED = (*ARGUMENT, AssertionError)


def expect_kind(error: Exception | None, kinds: tuple[type[Exception], ...], what: str) -> None:
    """Reject an `error` of another kind; that `what` is refused at all is another requirement's."""
    names = " or ".join(kind.__name__ for kind in kinds)
    expect(error is None or isinstance(error, kinds), f"{what} is refused, if it is, with a {names}", in_words(error))


@requirement("misuse.refusals-are-runtime-errors")
@in_each_state()
def test_call_in_a_state(impl: Adapter, key: str, state: State, tmp_path: Path) -> None:
    """A call that the graph's state does not allow, in each such state that the class can be brought into."""
    expect_kind(refusal(impl, key, state, tmp_path), STATE, f"{key} on a graph in the state {name(state)!r}")


@requirement("misuse.refusals-are-runtime-errors")
@in_states(new, captured)
def test_unknown_argument(impl: Adapter, state: State) -> None:
    """An argument that no document names."""
    with state(impl, Affine(impl)) as graph, impl.stream(impl.new_stream()):
        for method in (impl.graph_class, graph.replay, graph.capture_begin, graph.capture_end):
            error = caught(lambda method=method: method(no_such_setting=1))  # type: ignore[misc]
            expect_kind(error, ARGUMENT, "an unknown argument")


@requirement("misuse.refusals-are-runtime-errors")
def test_unknown_mode(impl: Adapter) -> None:
    """An error mode that no document names."""
    require(impl, "capture_modes")

    def capture() -> None:
        graph, settings = impl.graph_for(mode="bogus")
        capture_between(impl, graph, Affine(impl).body, **settings)

    with stream_kept(impl), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        error = caught(capture)
    expect_kind(error, ARGUMENT, "an unknown error mode")


@requirement("misuse.refusals-are-runtime-errors")
def test_begin_on_the_default_stream(impl: Adapter) -> None:
    """A capture on the default stream, where the device does not capture."""
    graph = impl.new_graph()
    with impl.stream(impl.default_stream()):
        error = caught(lambda: begin(impl, graph, Path()))
    expect_kind(error, STATE, "a capture on the default stream")


@requirement("misuse.refusals-are-runtime-errors")
@pytest.mark.parametrize("disturbance", [host_read, device_synchronize], ids=["host-read", "device-synchronize"])
def test_forbidden_call(impl: Adapter, disturbance: Callable[[Adapter], Callable[[], Any]]) -> None:
    """A call that a capture prohibits, and the end of that capture."""
    outcome = attempt(impl, Affine(impl).body, disturbance(impl))
    expect_kind(outcome.refusal, STATE, "a call that a capture prohibits")
    expect_kind(outcome.ending, STATE, "the end of a capture in which a call was refused")


@requirement("misuse.refusals-are-runtime-errors")
def test_end_of_a_block(impl: Adapter) -> None:
    """A block of the context manager with a prohibited call in it, whose error the block keeps to itself."""
    program, graph = Affine(impl), impl.new_graph()

    def block() -> None:
        with impl.capture(graph):
            program.body()
            caught(impl.synchronize)

    with stream_kept(impl):
        error = caught(block)
    expect_kind(error, STATE, "the end of a block in which a call was refused")


@requirement("misuse.refusals-are-runtime-errors")
def test_dead_input(impl: Adapter) -> None:
    """A replay whose input is gone, with the check of inputs on."""
    require(impl, "liveness")
    inputs, out = [impl.full(SIZE, 2.0)], impl.full(SIZE, 0.0)
    graph, _ = captured_graph(impl, lambda: out.copy_(inputs[0] * 2), liveness=True)
    impl.synchronize()
    inputs.clear()
    expect_kind(caught(graph.replay), STATE, "a replay whose input is gone")


@requirement("misuse.refusals-are-runtime-errors")
def test_sample_that_is_no_tensor(impl: Adapter) -> None:
    """make_graphed_callables with a sample argument that is no tensor."""
    require(impl, "graphed_callables")
    error = caught(lambda: impl.make_graphed_callables(lambda x: x * 2, (3.0,)))
    expect_kind(error, GRAPHED, "a sample argument that is no tensor")
