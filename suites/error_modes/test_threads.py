"""What each mode refuses to the capturing thread and to others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.adapter import Adapter, in_thread
from conformance.checks import expect, is_refusal
from conformance.markers import needs, requirement
from suites.error_modes.programs import capture_in_worker, every_mode, expect_allowed, expect_refused
from suites.support.disturbances import attempt
from suites.support.modes import need_global_default, unsafe, unsafe_elsewhere
from suites.support.outcomes import caught, in_words
from suites.support.programs import Affine
from suites.support.streams import stream_kept

nesting = pytest.mark.parametrize("depth", [pytest.param(1, id="thread"), pytest.param(2, id="thread-of-a-thread")])


@requirement("error-modes.global-own-thread")
@needs("raw_allocation")
def test_global_own(impl: Adapter) -> None:
    """global: the capturing thread is refused."""
    outcome = attempt(impl, Affine(impl).body, unsafe(impl), mode="global")
    expect_refused(outcome, "under 'global' an unsafe call of the capturing thread raises")


@requirement("error-modes.thread-local-own-thread")
@needs("raw_allocation")
def test_thread_local_own(impl: Adapter) -> None:
    """thread_local: the capturing thread is refused."""
    outcome = attempt(impl, Affine(impl).body, unsafe(impl), mode="thread_local")
    expect_refused(outcome, "under 'thread_local' an unsafe call of the capturing thread raises")


@requirement("error-modes.relaxed-own-thread")
@needs("raw_allocation")
def test_relaxed_own(impl: Adapter) -> None:
    """relaxed: the capturing thread may, and the capture is as good as without the call."""
    program = Affine(impl)
    outcome = attempt(impl, program.body, unsafe(impl), mode="relaxed")
    promise = "under 'relaxed' an unsafe call of the capturing thread works and leaves the capture whole"
    expect_allowed(outcome, promise)
    program.check(impl, outcome.graph, promise)


@requirement("error-modes.global-other-thread")
@needs("raw_allocation")
@nesting
def test_global_other(impl: Adapter, depth: int) -> None:
    """global: other threads are refused."""
    outcome = attempt(impl, Affine(impl).body, unsafe_elsewhere(impl, depth), mode="global")
    expect_refused(outcome, "under 'global' an unsafe call of another thread raises")


@requirement("error-modes.thread-local-other-thread")
@needs("raw_allocation")
@nesting
def test_thread_local_other(impl: Adapter, depth: int) -> None:
    """thread_local: other threads may."""
    program = Affine(impl)
    outcome = attempt(impl, program.body, unsafe_elsewhere(impl, depth), mode="thread_local")
    promise = "under 'thread_local' an unsafe call of another thread works and leaves the capture whole"
    expect_allowed(outcome, promise)
    program.check(impl, outcome.graph, promise)


@requirement("error-modes.relaxed-other-thread")
@needs("raw_allocation")
@nesting
def test_relaxed_other(impl: Adapter, depth: int) -> None:
    """relaxed: other threads may."""
    program = Affine(impl)
    outcome = attempt(impl, program.body, unsafe_elsewhere(impl, depth), mode="relaxed")
    promise = "under 'relaxed' an unsafe call of another thread works and leaves the capture whole"
    expect_allowed(outcome, promise)
    program.check(impl, outcome.graph, promise)


@requirement("error-modes.capturing-thread-is-the-beginner")
@needs("raw_allocation")
def test_worker_global(impl: Adapter) -> None:
    """A global capture of a worker thread refuses the main thread's call."""
    outcome = capture_in_worker(impl, Affine(impl).body, unsafe(impl), "global")
    expect_refused(outcome, "a 'global' capture that a worker thread began refuses unsafe calls of the main thread")


@requirement("error-modes.capturing-thread-is-the-beginner")
@needs("raw_allocation")
@pytest.mark.parametrize("mode", ["thread_local", "relaxed"])
def test_worker_other_modes(impl: Adapter, mode: str) -> None:
    """Other captures of a worker thread leave the main thread alone, and replay in it."""
    program = Affine(impl)
    outcome = capture_in_worker(impl, program.body, unsafe(impl), mode)
    promise = f"a {mode!r} capture that a worker thread began allows unsafe calls of the main thread"
    expect_allowed(outcome, promise)
    program.check(impl, outcome.graph, promise)


@requirement("error-modes.capturing-thread-is-the-beginner")
@needs("raw_allocation")
@pytest.mark.parametrize("mode", ["global", "thread_local"])
def test_worker_own_call(impl: Adapter, mode: str) -> None:
    """A worker thread's own call is refused as the main thread's would be."""

    def thread() -> None:
        outcome = attempt(impl, Affine(impl).body, unsafe(impl), mode=mode)
        expect_refused(outcome, f"under {mode!r} an unsafe call of the worker thread that captures raises")

    in_thread(thread)


@requirement("error-modes.other-thread-ordinary-work")
@every_mode
def test_ordinary_work(impl: Adapter, mode: str, observe: Any) -> None:
    """What comes of in-place work of another thread on a stream of its own."""
    tensor, stream = impl.full(37, 4.0), impl.new_stream()
    tensor.mul_(1).add_(0)  # loads the kernels, so that the other thread launches and does nothing else
    impl.synchronize()

    def elsewhere() -> None:
        with impl.stream(stream):
            tensor.mul_(2).add_(1)

    outcome = attempt(impl, Affine(impl).body, lambda: in_thread(elsewhere), mode=mode)
    runs_at_once = bool((impl.read(tensor) == 9.0).all())
    observe(mode, {"work": in_words(outcome.refusal), "capture_end": in_words(outcome.ending), "ran": runs_at_once})


@requirement("error-modes.other-thread-synchronize")
@every_mode
def test_synchronize_elsewhere(impl: Adapter, mode: str, observe: Any) -> None:
    """What comes of another thread that waits for the device."""
    outcome = attempt(impl, Affine(impl).body, lambda: in_thread(impl.synchronize), mode=mode)
    observe(mode, {"call": in_words(outcome.refusal), "capture_end": in_words(outcome.ending)})


@requirement("error-modes.default-is-global")
@needs("raw_allocation")
def test_default_own(impl: Adapter) -> None:
    """capture_begin without a mode refuses the capturing thread's call."""
    need_global_default(impl)
    outcome = attempt(impl, Affine(impl).body, unsafe(impl))
    expect_refused(outcome, "without a mode, as under 'global', an unsafe call of the capturing thread raises")


@requirement("error-modes.default-is-global-for-other-threads")
@needs("raw_allocation")
def test_default_other(impl: Adapter) -> None:
    """capture_begin without a mode refuses another thread's call."""
    need_global_default(impl)
    outcome = attempt(impl, Affine(impl).body, unsafe_elsewhere(impl))
    expect_refused(outcome, "without a mode, as under 'global', an unsafe call of another thread raises")


def in_context(impl: Adapter, call: Callable[[], None], mode: str | None) -> tuple[Exception | None, Exception | None]:
    """What `call` raised inside a capture by the context manager, and what the context manager raised."""
    refusal: list[Exception | None] = []
    program = Affine(impl)

    def capture() -> None:
        with impl.capture(impl.new_graph(), mode=mode):
            program.body()
            refusal.append(caught(call))

    with stream_kept(impl):
        ending = caught(capture)
    return (refusal[0] if refusal else None), ending


@requirement("error-modes.default-is-global")
@needs("raw_allocation")
def test_context_default_own(impl: Adapter) -> None:
    """The context manager without a mode refuses the capturing thread's call."""
    need_global_default(impl)
    refusal, _ = in_context(impl, unsafe(impl), None)
    promise = "a context manager without a mode refuses unsafe calls of the capturing thread"
    expect(is_refusal(refusal), promise, in_words(refusal))


@requirement("error-modes.default-is-global-for-other-threads")
@needs("raw_allocation")
def test_context_default_other(impl: Adapter) -> None:
    """The context manager without a mode refuses another thread's call."""
    need_global_default(impl)
    refusal, _ = in_context(impl, unsafe_elsewhere(impl), None)
    promise = "a context manager without a mode refuses unsafe calls of other threads"
    expect(is_refusal(refusal), promise, in_words(refusal))


@requirement("error-modes.context-passes-mode")
@needs("raw_allocation")
@every_mode
def test_context_mode(impl: Adapter, mode: str) -> None:
    """The context manager's mode decides about the capturing thread's call."""
    refusal, ending = in_context(impl, unsafe(impl), mode)
    if mode == "relaxed":
        promise = "a context manager with 'relaxed' allows unsafe calls of the capturing thread"
        expect(refusal is None and ending is None, promise, f"{in_words(refusal)}; at the end: {in_words(ending)}")
    else:
        promise = f"a context manager with {mode!r} refuses unsafe calls of the capturing thread"
        expect(is_refusal(refusal), promise, in_words(refusal))


@requirement("error-modes.context-passes-mode")
@needs("raw_allocation", "threads")
@every_mode
def test_context_mode_for_other_threads(impl: Adapter, mode: str) -> None:
    """The context manager's mode decides about another thread's call, too: thread_local is not global."""
    refusal, ending = in_context(impl, unsafe_elsewhere(impl), mode)
    if mode == "global":
        promise = "a context manager with 'global' refuses unsafe calls of other threads"
        expect(is_refusal(refusal), promise, in_words(refusal))
    else:
        promise = f"a context manager with {mode!r} allows unsafe calls of other threads"
        expect(refusal is None and ending is None, promise, f"{in_words(refusal)}; at the end: {in_words(ending)}")
