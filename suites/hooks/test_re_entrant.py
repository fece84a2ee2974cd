"""Hooks that call the graph, or capture another one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect, expect_no_raise, is_refusal
from conformance.markers import needs, requirement
from suites.hooks.programs import EACH_OCCASION, Occasion
from suites.support.captures import capture_between
from suites.support.hooks import register
from suites.support.outcomes import caught, in_words
from suites.support.programs import Affine
from suites.support.recovery import expect_capture
from suites.support.streams import stream_kept

CALLS: dict[str, Callable[[Any], Any]] = {
    "replay": lambda graph: graph.replay(),
    "instantiate": lambda graph: graph.instantiate(),
    "reset": lambda graph: graph.reset(),
}
EACH_CALL = pytest.mark.parametrize("call", ["replay", pytest.param("instantiate", marks=needs("keep_graph")), "reset"])

#: How deep a hook that runs its own occasion again may go before the test stops it.
DEPTH = 5


class _Nesting:
    """An occasion whose hook calls its graph.

    Attributes:
        occasion: the graph, and what it captured.
        handle: the hook's.
        inner: what the hook's calls raised.
        outer: what the call that ran the hook raised.
    """

    def __init__(self, impl: Adapter, name: str, call: str) -> None:
        self.occasion = Occasion(impl, name)
        self.occasion.prepare()
        self.inner: list[Exception | None] = []
        self._call = CALLS[call]
        self._depth = 0
        self.handle = register(self.occasion.graph, self.occasion.moment, self._hook)
        with stream_kept(impl):
            self.outer = caught(self.occasion.happen)
        impl.synchronize()

    def _hook(self, graph: Any) -> None:
        if self._depth == DEPTH:
            return
        self._depth += 1
        try:
            self.inner.append(caught(lambda: self._call(graph)))
        finally:
            self._depth -= 1


@requirement("hooks.re-entrant-call")
@EACH_OCCASION
@EACH_CALL
def test_call_of_the_graph(impl: Adapter, call: str, occasion: str) -> None:
    """The hook's call and the one around it work or are refused."""
    nesting = _Nesting(impl, occasion, call)
    expect(bool(nesting.inner), "the occasion runs the hook", f"it did not; {in_words(nesting.outer)}")
    for error in nesting.inner:
        promise = f"{call} called by a hook works or is refused"
        expect(error is None or is_refusal(error), promise, in_words(error))
    promise = f"the call whose hook called {call} works or is refused"
    expect(nesting.outer is None or is_refusal(nesting.outer), promise, in_words(nesting.outer))


@requirement("hooks.re-entrant-aftermath")
@EACH_OCCASION
@EACH_CALL
def test_aftermath(impl: Adapter, call: str, occasion: str) -> None:
    """Afterwards the graph can be reset and captured again, and so can another."""
    nesting = _Nesting(impl, occasion, call)
    nesting.handle.remove()
    expect_no_raise(f"a graph whose hook called {call} can be reset", nesting.occasion.graph.reset)
    expect_capture(impl, nesting.occasion.graph, f"a graph whose hook called {call} can be captured again")
    expect_capture(impl, impl.new_graph(), f"after a hook called {call} another graph captures")


@requirement("hooks.capture-in-hook")
@EACH_OCCASION
def test_capture_of_another_graph(impl: Adapter, occasion: str) -> None:
    """A hook captures and replays a graph of its own; both graphs then do their own work."""
    scene, other, extra = Occasion(impl, occasion), impl.new_graph(), Affine(impl, factor=-2.0)
    scene.prepare()

    def hook(_graph: Any) -> None:
        capture_between(impl, other, extra.body)
        other.replay()

    handle = register(scene.graph, scene.moment, hook)
    with stream_kept(impl):
        expect_no_raise("a hook may capture and replay another graph", scene.happen)
    impl.synchronize()
    handle.remove()
    scene.program.check(impl, scene.graph, "a graph whose hook captured another one does its own work")
    extra.check(impl, other, "a graph captured in a hook does its own work")
