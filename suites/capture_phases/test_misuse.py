"""The phases out of their place: refused, or without effect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect, expect_no_raise, expect_raises, is_refusal
from conformance.markers import requirement
from suites.capture_phases.programs import begun
from suites.support.captures import capture_between, open_capture, replay
from suites.support.disturbances import device_synchronize
from suites.support.outcomes import caught, in_words
from suites.support.phases import finish
from suites.support.programs import Affine, Counter
from suites.support.recovery import expect_capture, expect_eager_work
from suites.support.states import KEEP


@requirement("capture-phases.not-instantiated-between")
def test_nobody_instantiates(impl: Adapter) -> None:
    """A graph finished without an instantiation replays rightly or refuses, and can be captured again."""
    graph, program = begun(impl, keep_graph=False)
    promise = "a graph that nobody instantiated between the phases replays or refuses"
    outcome = caught(graph.capture_end_post)
    expect(outcome is None or is_refusal(outcome), promise, in_words(outcome))
    program.out.fill_(-1.0)
    first = caught(graph.replay)
    if first is None:
        program.check(impl, graph, promise)
    else:
        expect(is_refusal(first), promise, in_words(first))
    expect_no_raise("such a graph can be reset", graph.reset)
    expect_capture(impl, graph, "after reset() such a graph captures again")


@requirement("capture-phases.pre-without-capture")
@KEEP
def test_pre_on_a_new_graph(impl: Adapter, *, keep_graph: bool) -> None:
    """Nothing to end: refused, and the graph captures later."""
    graph, stream = impl.new_graph(keep_graph), impl.new_stream()
    with impl.stream(stream):
        expect_raises("capture_end_pre needs a capture underway", graph.capture_end_pre)
    expect_capture(impl, graph, "a graph that refused capture_end_pre captures later", stream=stream)


@requirement("capture-phases.pre-without-capture")
@KEEP
def test_pre_on_a_finished_graph(impl: Adapter, *, keep_graph: bool) -> None:
    """Ended already: refused, and the graph replays as before."""
    counter, graph = Counter(impl), impl.new_graph(keep_graph)
    capture_between(impl, graph, counter.body)
    replay(impl, graph)
    with impl.stream(impl.new_stream()):
        expect_raises("capture_end_pre needs a capture underway", graph.capture_end_pre)
    replay(impl, graph, 2)
    counter.expect_runs(3, "a finished graph that refused capture_end_pre replays as before")


@requirement("capture-phases.pre-on-another-stream")
@KEEP
def test_pre_on_another_stream(impl: Adapter, *, keep_graph: bool) -> None:
    """Refused on another stream; on its own the capture goes on and ends."""
    counter, graph, other = Counter(impl), impl.new_graph(keep_graph), impl.new_stream()
    with open_capture(impl, graph):
        counter.body()
        with impl.stream(other):
            expect_raises("a capture ends on the stream that it began on", graph.capture_end_pre)
        expect(impl.is_current_stream_capturing(), "a refused capture_end_pre leaves the capture underway", "it ended")
        counter.body()
        expect_no_raise("a refused capture_end_pre leaves the capture intact", graph.capture_end)
    replay(impl, graph, 2)
    counter.expect_runs(4, "the capture has the work before and after the refused call")


@requirement("capture-phases.pre-again")
@KEEP
def test_pre_twice(impl: Adapter, *, keep_graph: bool) -> None:
    """The second time it is refused; the second phase and replays work."""
    graph, program = begun(impl, keep_graph=keep_graph)
    with impl.stream(impl.new_stream()):
        expect_raises("capture_end_pre needs a capture underway", graph.capture_end_pre)
    expect_no_raise("a second capture_end_pre changes nothing", lambda: finish(graph, keep_graph=keep_graph))
    impl.synchronize()
    program.check(impl, graph, "a graph whose second capture_end_pre was refused replays")


@requirement("capture-phases.end-after-pre")
@KEEP
def test_end_after_pre(impl: Adapter, *, keep_graph: bool) -> None:
    """capture_end after the first phase finishes the graph, or is refused and the second phase does."""
    graph, program = impl.new_graph(keep_graph), Affine(impl)
    with open_capture(impl, graph):
        program.body()
        graph.capture_end_pre()
        error = caught(graph.capture_end)
    promise = "capture_end after capture_end_pre finishes the graph or is refused"
    expect(error is None or is_refusal(error), promise, in_words(error))
    if error is not None:
        expect_no_raise(
            "a refused capture_end changes nothing between the phases", lambda: finish(graph, keep_graph=keep_graph)
        )
        impl.synchronize()
    program.check(impl, graph, "the graph replays after capture_end was called between the phases")


@requirement("capture-phases.begin-between")
@KEEP
def test_begin_between(impl: Adapter, *, keep_graph: bool) -> None:
    """A capture begun between the phases is refused, or wholly replaces the first."""
    graph, first, second = impl.new_graph(keep_graph), Affine(impl), Affine(impl, factor=-2.0)
    with open_capture(impl, graph):
        first.body()
        graph.capture_end_pre()
        error = caught(lambda: impl.capture_begin(graph))
        if error is None:
            second.body()
            graph.capture_end()
    promise = "capture_begin between the phases is refused or begins a new capture"
    expect(error is None or is_refusal(error), promise, in_words(error))
    if error is None:
        first.out.fill_(-1.0)
        second.check(impl, graph, "a capture begun between the phases replaces the first one")
        expect(bool((impl.read(first.out) == -1.0).all()), "the first capture is replaced wholly", "it ran as well")
        return
    finish(graph, keep_graph=keep_graph)
    impl.synchronize()
    first.check(impl, graph, "a refused capture_begin changes nothing between the phases")


@requirement("capture-phases.reset-between")
@KEEP
def test_reset_between(impl: Adapter, *, keep_graph: bool) -> None:
    """After reset() the graph holds nothing, and captures again."""
    graph, program = begun(impl, keep_graph=keep_graph)
    expect_no_raise("reset() works between the phases", graph.reset)
    program.out.fill_(-1.0)
    expect_raises("a graph that was reset holds nothing to replay", graph.replay)
    expect(bool((impl.read(program.out) == -1.0).all()), "a refused replay runs nothing", "the captured work ran")
    expect_capture(impl, graph, "a graph that was reset between the phases captures again")


PLACES = pytest.mark.parametrize("place", ["new", "capturing", "finished", "finished-and-replayed", "reset"])


def _post_in(impl: Adapter, place: str, *, keep_graph: bool) -> tuple[Any, Counter, Exception | None]:
    """Call the second phase in a state that has no first one; the graph, its program, and what was raised."""
    graph, counter = impl.new_graph(keep_graph), Counter(impl)
    if place == "capturing":
        with open_capture(impl, graph):
            counter.body()
            error = caught(graph.capture_end_post)
            capturing = impl.is_current_stream_capturing()
            work = caught(counter.body)
            ending = caught(graph.capture_end)
        promise = "capture_end_post does not end or spoil a capture, whether it is refused or not"
        seen = f"capturing: {capturing}; further work: {in_words(work)}; capture_end: {in_words(ending)}"
        expect(capturing and work is None and ending is None, promise, seen)
        return graph, counter, error
    if place != "new":
        capture_between(impl, graph, counter.body)
    if place == "finished-and-replayed":
        replay(impl, graph)
    if place == "reset":
        graph.reset()
    return graph, counter, caught(graph.capture_end_post)


@requirement("capture-phases.post-out-of-place")
@KEEP
@PLACES
def test_post_out_of_place(impl: Adapter, place: str, observe: Callable[[str, Any], None], *, keep_graph: bool) -> None:
    """Records whether the second phase is refused where there was no first one."""
    _, _, error = _post_in(impl, place, keep_graph=keep_graph)
    observe("outcome", "accepted" if error is None else f"refused: {type(error).__name__}")


@requirement("capture-phases.post-out-of-place-harmless")
@KEEP
@PLACES
def test_post_out_of_place_is_harmless(impl: Adapter, place: str, *, keep_graph: bool) -> None:
    """Refused or not, it changes nothing of what the graph holds."""
    graph, counter, error = _post_in(impl, place, keep_graph=keep_graph)
    promise = "capture_end_post out of its place is refused or does nothing"
    expect(error is None or is_refusal(error), promise, in_words(error))
    if place in ("new", "reset"):
        expect_raises("capture_end_post makes nothing to replay", graph.replay)
        expect_capture(impl, graph, "capture_end_post out of its place leaves the graph ready to capture")
        return
    before = {"capturing": 0, "finished": 0, "finished-and-replayed": 1}[place]
    each = 2 if place == "capturing" else 1
    replay(impl, graph, 3)
    counter.expect_runs(before + 3 * each, "capture_end_post out of its place leaves the captured work as it is")


@requirement("capture-phases.pre-reports-failure")
@KEEP
def test_spoiled_capture(impl: Adapter, *, keep_graph: bool) -> None:
    """The first phase reports that the capture failed; stream and graph can be used again."""
    graph, disturb, work = impl.new_graph(keep_graph), device_synchronize(impl), Affine(impl)
    with open_capture(impl, graph) as stream:
        work.first_half()
        refusal = caught(disturb)
        ending = caught(graph.capture_end_pre)
        capturing = impl.is_current_stream_capturing()
    expect(
        is_refusal(refusal) or is_refusal(ending),
        "a capture that was spoiled is reported, at the latest by capture_end_pre",
        f"the call in the capture: {in_words(refusal)}; capture_end_pre: {in_words(ending)}",
    )
    expect(not capturing, "capture_end_pre ends a capture that failed", "the stream is still capturing")
    expect_eager_work(impl, stream, "after a failed capture_end_pre the stream runs ordinary work")
    graph.reset()
    expect_capture(impl, graph, "after a failed capture_end_pre and reset() the graph captures again")
