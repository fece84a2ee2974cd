"""What kind of exception refuses a call: one requirement for the refusals of all areas, whose own take any kind."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect
from conformance.errors import Unsupported
from conformance.markers import requirement
from suites.misuse.programs import (
    State,
    captured,
    capturing,
    capturing_keep,
    failed,
    in_states,
    name,
    new,
    new_keep,
    reset,
    reset_keep,
    template,
)
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


def require(impl: Adapter, capability: str | None) -> None:
    """Give the test up unless the implementation owes the capability."""
    if capability is not None and not impl.owes(capability):
        raise Unsupported(f"the call is part of {capability}, which is not documented here or declared absent")


@dataclass(frozen=True)
class Call:
    """A call on a graph in a state that has not what it needs.

    Attributes:
        make: makes the call on the graph; the path is for files.
        states: in which.
        capability: what the call is part of.
    """

    make: Callable[[Adapter, Any, Path], Any]
    states: Sequence[State]
    capability: str | None = None


#: The states that only a graph with keep_graph=True is brought into, and those that take a reset().
KEPT = (new_keep, capturing_keep, template, reset_keep)
RESET = (reset, reset_keep)


def _begin(impl: Adapter, graph: Any, _path: Path) -> None:
    impl.capture_begin(graph)
    impl.abort_capture(graph)


def _end_elsewhere(impl: Adapter, graph: Any, _path: Path) -> None:
    with impl.stream(impl.new_stream()):
        graph.capture_end()


CALLS: dict[str, Call] = {
    "replay": Call(lambda _, graph, __: graph.replay(), (new, capturing, failed, reset)),
    "lazy-replay": Call(lambda _, graph, __: graph.replay(), (new_keep, capturing_keep, reset_keep), "keep_graph"),
    "instantiate": Call(
        lambda _, graph, __: graph.instantiate(), (new, new_keep, capturing_keep, captured, reset_keep), "keep_graph"
    ),
    "pool": Call(lambda _, graph, __: graph.pool(), (new, capturing, reset), "pools"),
    "template": Call(lambda impl, graph, _: impl.raw_graph(graph), (new_keep, capturing, captured), "raw_handles"),
    "executable": Call(lambda impl, graph, _: impl.raw_exec(graph), (new, capturing, template), "raw_handles"),
    "debug-dump": Call(lambda impl, graph, path: impl.debug_dump(graph, str(path)), (new, captured), "debug_dump"),
    "graph-data": Call(lambda _, graph, __: graph.get_graph_data(), (new, captured, template), "graph_data"),
    "capture-begin": Call(_begin, (captured, template)),
    "capture-end": Call(lambda _, graph, __: graph.capture_end(), (new, captured, failed, reset)),
    "capture-end-elsewhere": Call(_end_elsewhere, (capturing,)),
    "capture-end-pre": Call(lambda _, graph, __: graph.capture_end_pre(), (new, captured), "capture_phases"),
    "capture-end-post": Call(lambda _, graph, __: graph.capture_end_post(), (new, capturing, reset), "capture_phases"),
    "reset": Call(lambda _, graph, __: graph.reset(), (capturing,)),
}


@requirement("misuse.refusals-are-runtime-errors")
@pytest.mark.parametrize("key", CALLS)
def test_call_in_a_state(impl: Adapter, key: str, tmp_path: Path) -> None:
    """A call that the graph's state does not allow, in each such state that the class can be brought into."""
    call = CALLS[key]
    require(impl, call.capability)
    if key == "reset":
        impl.need_reset()
    for state in call.states:
        if (state in KEPT and not impl.owes("keep_graph")) or (state in RESET and not impl.has_reset):
            continue
        with stream_kept(impl), contextlib.suppress(Unsupported), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a class may warn where debugging is off, or of what it ignores
            with impl.stream(impl.new_stream()), state(impl, Affine(impl)) as graph:
                error = caught(lambda: call.make(impl, graph, tmp_path / "graph.dot"))
                expect_kind(error, STATE, f"{key} on a graph in the state {name(state)!r}")


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
        error = caught(lambda: _begin(impl, graph, Path()))
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
