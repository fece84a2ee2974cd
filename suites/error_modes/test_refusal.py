"""What is left of a capture in which a call was refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.adapter import Adapter, in_thread
from conformance.checks import expect, expect_no_raise, expect_raises
from conformance.markers import requirement
from suites.error_modes.programs import expect_refused, refusing_mode
from suites.support.disturbances import Attempt, attempt
from suites.support.modes import unsafe, unsafe_elsewhere
from suites.support.outcomes import in_words
from suites.support.programs import Affine
from suites.support.recovery import expect_capture, expect_eager_work


def refused_attempt(impl: Adapter, mode: str, call: Callable[[], None] | None = None) -> Attempt:
    """A capture in `mode` in which the capturing thread's call was refused (that it is, is another test's)."""
    outcome = attempt(impl, Affine(impl).body, unsafe(impl) if call is None else call, mode=mode)
    expect_refused(outcome, f"under {mode!r} the unsafe call raises")
    return outcome


@requirement("error-modes.refusal-spoils-capture")
@refusing_mode
def test_end_raises(impl: Adapter, mode: str) -> None:
    """capture_end reports what the caller of the refused call may have swallowed."""
    outcome = refused_attempt(impl, mode)
    expect(
        isinstance(outcome.ending, RuntimeError),
        "capture_end raises a RuntimeError when a call was refused during the capture",
        in_words(outcome.ending),
    )


@requirement("error-modes.foreign-refusal-spoils-capture")
def test_end_raises_for_another_thread(impl: Adapter) -> None:
    """The capturing thread learns of it when the refused call was another thread's."""
    outcome = refused_attempt(impl, "global", unsafe_elsewhere(impl))
    expect(
        isinstance(outcome.ending, RuntimeError),
        "capture_end raises a RuntimeError when another thread's call was refused during the capture",
        in_words(outcome.ending),
    )
    expect_raises("a graph whose capture another thread spoiled refuses to replay", outcome.graph.replay)


@requirement("error-modes.refusal-leaves-nothing")
@refusing_mode
def test_replay_refused(impl: Adapter, mode: str) -> None:
    """The graph of a spoiled capture has nothing to replay."""
    outcome = refused_attempt(impl, mode)
    expect_raises("a graph whose capture was spoiled refuses to replay", outcome.graph.replay)


@requirement("error-modes.refusal-leaves-stream")
@refusing_mode
def test_stream_usable(impl: Adapter, mode: str) -> None:
    """The stream is out of the capture and works."""
    outcome = refused_attempt(impl, mode)
    expect(not outcome.left_capturing, "a spoiled capture is over after capture_end", "the stream is still capturing")
    expect_eager_work(impl, outcome.stream, "after a spoiled capture the stream runs ordinary work")
    expect_eager_work(impl, impl.current_stream(), "after a spoiled capture the caller's stream runs ordinary work")


@requirement("error-modes.refusal-leaves-thread")
@refusing_mode
def test_own_thread_usable(impl: Adapter, mode: str) -> None:
    """The capturing thread makes the call afterwards."""
    refused_attempt(impl, mode)
    expect_no_raise("after the capture the call that it refused works in the capturing thread", unsafe(impl))


@requirement("error-modes.refusal-leaves-thread")
def test_other_thread_usable(impl: Adapter) -> None:
    """The very thread that was refused makes the call afterwards."""

    def thread() -> None:
        refused_attempt(impl, "global", unsafe_elsewhere(impl))
        expect_no_raise("after the capture the call that it refused works", unsafe(impl))
        expect_no_raise("after the capture the call that it refused works in other threads", unsafe_elsewhere(impl))

    in_thread(thread)
    expect_no_raise("after another thread's capture the call works in the main thread", unsafe(impl))


@requirement("error-modes.refusal-leaves-next-capture")
@pytest.mark.parametrize("which", ["same-graph", "new-graph"])
@refusing_mode
def test_next_capture(impl: Adapter, mode: str, which: str) -> None:
    """The same graph, reset, or a new one captures on the same stream in the same mode."""
    outcome = refused_attempt(impl, mode)
    outcome.graph.reset()
    graph = outcome.graph if which == "same-graph" else impl.new_graph()
    expect_capture(impl, graph, "after a spoiled capture another one works", stream=outcome.stream, mode=mode)
