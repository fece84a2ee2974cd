"""What is left of a capture in which a call was refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.adapter import Adapter, in_thread
from conformance.checks import expect, expect_equal, expect_no_raise, expect_raises, is_refusal
from conformance.markers import needs, requirement
from suites.error_modes.programs import refusing_mode
from suites.support.disturbances import Attempt, attempt
from suites.support.modes import unsafe, unsafe_elsewhere
from suites.support.programs import Affine
from suites.support.recovery import expect_capture, expect_eager_work


def disturbed(impl: Adapter, mode: str, body: Callable[[], Any] | None = None) -> Attempt:
    """A capture in `mode` in which the capturing thread made an unsafe call (that it is refused is another test's)."""
    return attempt(impl, body or Affine(impl).body, unsafe(impl), mode=mode)


@requirement("error-modes.refusal-spoils-capture")
@needs("raw_allocation")
@refusing_mode
def test_ends_with_an_error_or_whole(impl: Adapter, mode: str) -> None:
    """capture_end reports what the caller of the refused call may have swallowed, or the call did no harm."""
    program = Affine(impl)
    outcome = disturbed(impl, mode, program.body)
    if outcome.ending is None:
        program.check(impl, outcome.graph, "a capture that ends without an error replays all of its work")
        return
    expect(is_refusal(outcome.ending), "the end of a capture that a refused call spoiled says so", str(outcome))


@requirement("error-modes.foreign-refusal-spoils-capture")
@needs("raw_allocation", "threads")
def test_another_threads_call(impl: Adapter) -> None:
    """The capturing thread learns of it when the refused call was another thread's, or the call did no harm."""
    program = Affine(impl)
    outcome = attempt(impl, program.body, unsafe_elsewhere(impl), mode="global")
    if outcome.ending is None:
        program.check(impl, outcome.graph, "a capture that ends without an error replays all of its work")
        return
    expect_raises("a graph whose capture another thread spoiled refuses to replay", outcome.graph.replay)


@requirement("error-modes.refusal-leaves-nothing")
@needs("raw_allocation")
@refusing_mode
def test_replay_refused(impl: Adapter, mode: str) -> None:
    """The graph of a spoiled capture has nothing to replay."""
    program = Affine(impl)
    outcome = disturbed(impl, mode, program.body)
    if outcome.ending is None:
        program.check(impl, outcome.graph, "a capture that ends without an error replays all of its work")
        return
    program.out.fill_(4.0)
    expect_raises("a graph whose capture was spoiled refuses to replay", outcome.graph.replay)
    expect_equal(impl, program.out, 4.0, "a refused replay runs nothing")


@requirement("error-modes.refusal-leaves-stream")
@needs("raw_allocation")
@refusing_mode
def test_stream_usable(impl: Adapter, mode: str) -> None:
    """The stream is out of the capture and works."""
    outcome = disturbed(impl, mode)
    expect(not outcome.left_capturing, "a spoiled capture is over after capture_end", "the stream is still capturing")
    expect_eager_work(impl, outcome.stream, "after a spoiled capture the stream runs ordinary work")
    expect_eager_work(impl, impl.current_stream(), "after a spoiled capture the caller's stream runs ordinary work")


@requirement("error-modes.refusal-leaves-thread")
@needs("raw_allocation")
@refusing_mode
def test_own_thread_usable(impl: Adapter, mode: str) -> None:
    """The capturing thread makes the call afterwards."""
    disturbed(impl, mode)
    expect_no_raise("after the capture the call that it refused works in the capturing thread", unsafe(impl))


@requirement("error-modes.refusal-leaves-thread")
@needs("raw_allocation", "threads")
def test_other_thread_usable(impl: Adapter) -> None:
    """The very thread that made the call during the capture makes it afterwards."""

    def thread() -> None:
        attempt(impl, Affine(impl).body, unsafe_elsewhere(impl), mode="global")
        expect_no_raise("after the capture the call that it refused works", unsafe(impl))
        expect_no_raise("after the capture the call that it refused works in other threads", unsafe_elsewhere(impl))

    in_thread(thread)
    expect_no_raise("after another thread's capture the call works in the main thread", unsafe(impl))


@requirement("error-modes.refusal-leaves-next-capture")
@needs("raw_allocation")
@pytest.mark.parametrize("which", ["same-graph", "new-graph"])
@refusing_mode
def test_next_capture(impl: Adapter, mode: str, which: str) -> None:
    """The same graph, reset, or a new one captures on the same stream in the same mode."""
    outcome = disturbed(impl, mode)
    outcome.graph.reset()
    graph = outcome.graph if which == "same-graph" else impl.new_graph()
    expect_capture(impl, graph, "after a spoiled capture another one works", stream=outcome.stream, mode=mode)
