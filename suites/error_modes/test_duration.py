"""A mode holds for one capture: not for the next, and not for the time after."""

from __future__ import annotations

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect_no_raise
from conformance.markers import needs, requirement
from suites.error_modes.programs import every_mode, expect_allowed, expect_refused, probe
from suites.support.modes import unsafe
from suites.support.recovery import expect_capture

same_or_new = pytest.mark.parametrize("which", ["same-graph", "new-graph"])


@requirement("error-modes.mode-is-per-capture")
@needs("raw_allocation")
@same_or_new
def test_relaxed_does_not_stay(impl: Adapter, which: str) -> None:
    """After a relaxed capture one without a mode refuses again."""
    graph = impl.new_graph()
    expect_capture(impl, graph, "a 'relaxed' capture works", mode="relaxed")
    graph.reset()
    outcome = probe(impl, graph=graph if which == "same-graph" else None)
    expect_refused(outcome, "a capture without a mode is 'global', also after one that was 'relaxed'")


@requirement("error-modes.mode-is-per-capture")
@needs("raw_allocation")
@same_or_new
@pytest.mark.parametrize("first", ["global", "thread_local"])
def test_strict_does_not_stay(impl: Adapter, which: str, first: str) -> None:
    """After a stricter capture a relaxed one allows."""
    graph = impl.new_graph()
    expect_capture(impl, graph, f"a {first!r} capture works", mode=first)
    graph.reset()
    outcome = probe(impl, graph=graph if which == "same-graph" else None, mode="relaxed")
    expect_allowed(outcome, f"a 'relaxed' capture allows unsafe calls, also after one that was {first!r}")


@requirement("error-modes.mode-is-per-capture")
@needs("raw_allocation", "threads")
@same_or_new
def test_thread_local_does_not_stay(impl: Adapter, which: str) -> None:
    """After a thread_local capture one without a mode refuses other threads again."""
    graph = impl.new_graph()
    expect_capture(impl, graph, "a 'thread_local' capture works", mode="thread_local")
    graph.reset()
    outcome = probe(impl, graph=graph if which == "same-graph" else None, elsewhere=True)
    expect_refused(outcome, "a capture without a mode is 'global', also after one that was 'thread_local'")


@requirement("error-modes.mode-is-per-capture")
@needs("raw_allocation", "threads")
@same_or_new
def test_global_does_not_stay(impl: Adapter, which: str) -> None:
    """After a global capture a thread_local one lets other threads go on."""
    graph = impl.new_graph()
    expect_capture(impl, graph, "a 'global' capture works", mode="global")
    graph.reset()
    outcome = probe(impl, graph=graph if which == "same-graph" else None, mode="thread_local", elsewhere=True)
    expect_allowed(outcome, "a 'thread_local' capture allows unsafe calls of other threads, also after a 'global' one")


@requirement("error-modes.mode-is-per-capture")
@needs("raw_allocation")
def test_given_mode_after_refused_capture(impl: Adapter) -> None:
    """A capture that was spoiled passes its mode on to no later one."""
    graph = impl.new_graph()
    probe(impl, graph=graph, mode="global")
    graph.reset()
    outcome = probe(impl, graph=graph, mode="relaxed")
    expect_allowed(outcome, "a 'relaxed' capture allows unsafe calls, also after one that a refused call spoiled")


@requirement("error-modes.mode-ends-with-capture")
@needs("raw_allocation")
@every_mode
def test_after_the_capture(impl: Adapter, mode: str) -> None:
    """The call works in the capturing thread as soon as the capture has ended, and the graph is undamaged."""
    graph = impl.new_graph()
    program = expect_capture(impl, graph, f"a {mode!r} capture works", mode=mode)
    promise = f"after a {mode!r} capture has ended the capturing thread may make unsafe calls"
    expect_no_raise(promise, unsafe(impl))
    program.check(impl, graph, "a graph replays the right values after a call that its capture prohibited")
