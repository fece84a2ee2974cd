"""Hooks that raise: who learns of it, and what is left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_no_raise, fail, is_refusal
from conformance.markers import requirement
from suites.hooks.programs import EACH_OCCASION, Occasion
from suites.support.captures import capture_into, captured
from suites.support.hooks import HookFailed, raising, register
from suites.support.memory import growth
from suites.support.outcomes import caught, in_words, related
from suites.support.programs import Affine
from suites.support.recovery import expect_capture, expect_eager_work
from suites.support.states import KEEP
from suites.support.streams import stream_kept

REACHES = "what a hook raises reaches the caller of the call that ran it"


class _Mishap:
    """An occasion whose hook raised.

    Attributes:
        occasion: the graph, and what it captured.
        handle: the failing hook's.
        from_hook: whether the caller learnt of the hook's exception.
        outcome: what the caller got, in words.
    """

    def __init__(self, impl: Adapter, name: str) -> None:
        self.occasion = Occasion(impl, name)
        self.occasion.prepare()
        self.handle = register(self.occasion.graph, self.occasion.moment, raising)
        with stream_kept(impl):
            error = caught(self.occasion.happen)
        self.from_hook = any(isinstance(one, HookFailed) for one in related(error))
        self.outcome = in_words(error)


@requirement("hooks.exception-reaches-caller")
@EACH_OCCASION
def test_reaches_the_caller(impl: Adapter, occasion: str) -> None:
    """The call that ran the hook raises the hook's exception, or one with it in its context."""
    mishap = _Mishap(impl, occasion)
    expect(mishap.from_hook, REACHES, mishap.outcome)


@requirement("hooks.exception-reaches-caller")
@EACH_OCCASION
def test_an_interrupt_reaches_the_caller(impl: Adapter, occasion: str) -> None:
    """So does what is no Exception, such as the interrupt of a user who has waited long enough."""
    scene = Occasion(impl, occasion)
    scene.prepare()

    def interrupted(_graph: Any) -> None:
        raise KeyboardInterrupt("from the hook")

    register(scene.graph, scene.moment, interrupted)
    with stream_kept(impl):
        try:
            scene.happen()
        except KeyboardInterrupt:
            return
        except Exception as error:
            outcome = in_words(error)
            if any(isinstance(one, KeyboardInterrupt) for one in related(error)):
                return
        else:
            outcome = "no error"
    fail(REACHES, outcome)


@requirement("hooks.exception-context-manager")
@KEEP
def test_out_of_the_context_manager(impl: Adapter, *, keep_graph: bool) -> None:
    """The with block raises it, and the caller's stream is current again."""
    graph = impl.new_graph(keep_graph)
    graph.register_capture_end_hook(raising)
    with stream_kept(impl) as before:
        error = caught(lambda: capture_into(impl, graph, Affine(impl).body))
        after = impl.current_stream()
    expect(any(isinstance(one, HookFailed) for one in related(error)), REACHES, in_words(error))
    expect(
        after == before,
        "when a hook raises, the stream from before the block is current again",
        f"{after!r} instead of {before!r}",
    )


@requirement("hooks.exception-ends-capture")
@EACH_OCCASION
def test_no_capture_is_left(impl: Adapter, occasion: str) -> None:
    """Neither the caller's stream nor the one that captured is capturing afterwards; both work."""
    graph, stream = Occasion(impl, occasion), impl.new_stream()
    register(graph.graph, graph.moment, raising)
    open_after: list[bool] = []
    with stream_kept(impl):
        with impl.stream(stream):
            if graph.moment == "capture-end" or occasion == "post-instantiate-in-capture-end":
                impl.capture_begin(graph.graph)
                graph.program.body()
                caught(graph.graph.capture_end)
            else:
                graph.prepare()
                caught(graph.happen)
            open_after.append(impl.is_current_stream_capturing())
            if open_after[0]:
                impl.abort_capture(graph.graph)
        open_after.append(impl.is_current_stream_capturing())
    expect(not any(open_after), "a hook that raises leaves no capture open", "a stream is still capturing")
    expect_eager_work(impl, stream, "after a hook raised, the capturing stream runs ordinary work")
    expect_eager_work(impl, impl.new_stream(), "after a hook raised, other streams run ordinary work")


@requirement("hooks.exception-then-replay")
@EACH_OCCASION
def test_replay_afterwards(impl: Adapter, occasion: str) -> None:
    """A replay computes what was captured, or is refused and computes nothing."""
    mishap = _Mishap(impl, occasion)
    program, graph = mishap.occasion.program, mishap.occasion.graph
    mishap.handle.remove()
    impl.synchronize()
    for value in (5.0, -2.0, 11.0):
        program.x.fill_(value)
        program.out.fill_(-1.0)
        error = caught(graph.replay)
        promise = "a graph whose hook raised replays or refuses to"
        expect(error is None or is_refusal(error), promise, in_words(error))
        expected = value * program.factor + 1 if error is None else -1.0
        behaviour = "replays correctly" if error is None else "refuses without doing anything"
        expect_equal(impl, program.out, expected, f"a graph whose hook raised {behaviour}")


@requirement("hooks.exception-then-instantiate")
@pytest.mark.parametrize("occasion", ["instantiate", "first-replay"])
def test_instantiate_afterwards(impl: Adapter, occasion: str) -> None:
    """Once the failing hook is removed, instantiate() and replays work."""
    mishap = _Mishap(impl, occasion)
    mishap.handle.remove()
    graph = mishap.occasion.graph
    promise = "a graph whose hook raised can be instantiated again"
    expect_no_raise(promise, graph.instantiate)
    mishap.occasion.program.check(impl, graph, f"{promise} and replayed")


@requirement("hooks.exception-then-recapture")
@EACH_OCCASION
def test_recapture_afterwards(impl: Adapter, occasion: str) -> None:
    """Once the failing hook is removed, reset() and a new capture work."""
    mishap = _Mishap(impl, occasion)
    mishap.handle.remove()
    expect_no_raise("a graph whose hook raised can be reset", mishap.occasion.graph.reset)
    expect_capture(impl, mishap.occasion.graph, "a graph whose hook raised can be reset and captured again")


@requirement("hooks.exception-spares-others")
@EACH_OCCASION
def test_other_graphs(impl: Adapter, occasion: str) -> None:
    """A graph from before replays, and a new one captures while the failed one is still there."""
    program = Affine(impl, factor=2.0)
    older, _ = captured(impl, program.body)
    mishap = _Mishap(impl, occasion)
    program.check(impl, older, "after a hook raised, a graph captured before replays")
    expect_capture(impl, impl.new_graph(), "after a hook raised, another graph captures")
    mishap.occasion.graph.reset()  # alive until here
    program.check(impl, older, "after a graph whose hook raised was reset, another one replays")


@requirement("hooks.exception-memory-returns", "hooks.exception-then-recapture")
@EACH_OCCASION
def test_memory_returns(impl: Adapter, occasion: str) -> None:
    """What the graph had allocated is given back."""

    def cycle() -> None:
        mishap = _Mishap(impl, occasion)
        mishap.occasion.graph.reset()

    increase = growth(impl, cycle, impl.memory_allocated)
    promise = "a graph whose hook raised gives its memory back at reset()"
    expect(increase <= 0, promise, f"{increase} bytes more are allocated")


@requirement("hooks.exception-stops-round")
@EACH_OCCASION
def test_hooks_after_the_failing_one(impl: Adapter, occasion: str, observe: Callable[[str, Any], None]) -> None:
    """Records which hooks of the round still run."""
    scene = Occasion(impl, occasion)
    ran: list[Any] = []
    scene.prepare()
    register(scene.graph, scene.moment, lambda _: ran.append("before"))
    register(scene.graph, scene.moment, raising)
    register(scene.graph, scene.moment, lambda _: ran.append("after"))
    with stream_kept(impl):
        caught(scene.happen)
    observe("hooks that ran", list(ran))
