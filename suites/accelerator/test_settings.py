"""What is given at construction, and when it takes effect."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_no_raise, is_refusal
from conformance.errors import Unsupported
from conformance.markers import requirement
from suites.support.captures import capture_into, captured, open_capture, replay
from suites.support.disturbances import attempt
from suites.support.modes import unsafe
from suites.support.needs import needs
from suites.support.outcomes import caught, in_words
from suites.support.programs import Affine, Counter
from suites.support.recovery import expect_capture
from suites.support.streams import side_stream
from suites.support.tokens import equal


@requirement("accelerator.constructor-begins-nothing")
@pytest.mark.parametrize("settings", ["none", "pool-and-mode", "kept"])
@pytest.mark.parametrize("where", ["default-stream", "side-stream"])
def test_construction_begins_nothing(impl: Adapter, where: str, settings: str) -> None:
    """Work after the construction runs at once, and is in no later capture."""
    eager, counter = Counter(impl), Counter(impl)
    holder, _ = captured(impl, Affine(impl).body)
    constructors: dict[str, Callable[[], Any]] = {
        "none": impl.graph_class,
        "pool-and-mode": lambda: impl.graph_class(pool=holder.pool(), capture_error_mode="default"),
        "kept": lambda: impl.graph_class(keep_graph=True),
    }

    def construct() -> Any:
        graph = constructors[settings]()
        capturing = impl.is_current_stream_capturing()
        expect(not capturing, "construction begins no capture", "the current stream is capturing")
        eager.body()
        return graph

    if where == "side-stream":
        with side_stream(impl):
            graph = construct()
    else:
        graph = construct()
    eager.expect_runs(1, "work after the construction runs at once")
    with side_stream(impl), graph:
        counter.body()
    graph.replay()
    graph.replay()
    counter.expect_runs(2, "the graph captures when its block is entered")
    eager.expect_runs(1, "work before the capture is not in it")


@requirement("accelerator.stream-at-begin")
@pytest.mark.parametrize("way", ["block", "begin-end"])
def test_stream_of_the_capture(impl: Adapter, way: str) -> None:
    """Made with one stream current, the graph captures on another."""
    counter, at_construction, at_begin = Counter(impl), impl.new_stream(), impl.new_stream()
    with side_stream(impl, at_construction):
        graph = impl.graph_class()
    with side_stream(impl, at_begin):
        if way == "block":
            with graph:
                capturing = impl.is_current_stream_capturing()
                counter.body()
        else:
            graph.capture_begin()
            capturing = impl.is_current_stream_capturing()
            counter.body()
            graph.capture_end()
    expect(capturing, "the stream that is current when the capture begins is captured", "it is not")
    with impl.stream(at_construction):
        expect(not impl.is_current_stream_capturing(), "no other stream is captured", "that of the construction is")
    for _ in range(3):
        graph.replay()
    counter.expect_runs(3, "work of the stream that is current when the capture begins is captured")


@requirement("accelerator.settings-last")
def test_pool_lasts(impl: Adapter) -> None:
    """Every capture of a graph made with a pool works, and so does the graph that the pool came from."""
    program = Affine(impl, factor=-2.0)
    holder, _ = captured(impl, program.body)
    graph = impl.graph_class(pool=holder.pool())
    for _ in range(3):
        expect_capture(impl, graph, "a graph made with a pool captures again after reset()")
        program.check(impl, holder, "the graph that the pool came from does its own work")
        graph.reset()


def _pool_of(impl: Adapter, tensor: torch.Tensor) -> Any:
    """The allocator's name of the pool that the memory of `tensor` belongs to.

    Raises:
        Unsupported: it names none.
    """
    try:
        segments = impl.memory_snapshot()
    except NotImplementedError as error:
        raise Unsupported("the adapter has no memory_snapshot()") from error
    for segment in segments:
        inside = segment["address"] <= tensor.data_ptr() < segment["address"] + segment["total_size"]
        if inside and segment.get("segment_pool_id") is not None:
            return segment["segment_pool_id"]
    raise Unsupported("memory_snapshot() does not say which pool a tensor belongs to")


@requirement("accelerator.pool-used")
@pytest.mark.parametrize("captures", [1, 2], ids=["first-capture", "after-reset"])
def test_memory_comes_from_the_given_pool(impl: Adapter, captures: int) -> None:
    """A graph made with another one's token captures into the pool that the other one captured into."""
    needs(impl, "memory_stats")
    source = impl.full(37, 1.0)
    holder, held = captured(impl, lambda: source + 1)
    other, apart = captured(impl, lambda: source + 2)
    if _pool_of(impl, held) == _pool_of(impl, apart):
        raise Unsupported("memory_snapshot() does not tell pools apart")
    graph = impl.graph_class(pool=holder.pool())
    for number in range(captures):
        if number:
            impl.reset(graph)
        out = capture_into(impl, graph, lambda: source + 3)
    pools = {"the given one": _pool_of(impl, held), "that of the capture": _pool_of(impl, out)}
    promise = "a capture uses the memory pool that was provided at construction"
    expect(pools["the given one"] == pools["that of the capture"], promise, f"{pools}")
    replay(impl, graph)
    expect_equal(impl, out, 4.0, "a graph made with a pool does its work")
    del other


@requirement("accelerator.settings-last")
@pytest.mark.parametrize("mode", ["global", "relaxed"])
def test_mode_lasts(impl: Adapter, mode: str) -> None:
    """What becomes of a potentially unsafe call in the first capture of a graph becomes of it in the later ones."""
    needs(impl, "capture_modes")
    graphs: list[Any] = []
    refusal = caught(lambda: graphs.append(impl.graph_class(capture_error_mode=mode)))
    if refusal is not None:
        raise Unsupported(f"the backend takes no mode {mode!r}: {in_words(refusal)}")
    outcomes = []
    for _ in range(3):
        outcomes.append(_outcome_of_an_unsafe_call(impl, graphs[0]))
        graphs[0].reset()
    promise = f"the mode given at construction, {mode!r}, holds for every capture: each allows an unsafe call, or none"
    expect(len(set(outcomes)) == 1, promise, "; ".join(outcomes))


def _outcome_of_an_unsafe_call(impl: Adapter, graph: Any) -> str:
    try:
        outcome = attempt(impl, Affine(impl).body, unsafe(impl), graph=graph)
    except Exception as error:  # a mode of its own may be all that a backend has
        return f"no capture ({type(error).__name__})"
    return "allowed" if outcome.refusal is None else "refused"


@requirement("accelerator.settings-last")
def test_unknown_mode_lasts(impl: Adapter) -> None:
    """What becomes of a mode that is none of the documented ones becomes of it at every capture."""
    graphs: list[Any] = []
    if caught(lambda: graphs.append(impl.graph_class(capture_error_mode="bogus"))) is not None:
        return
    outcomes = [_outcome_of_a_capture(impl, graphs[0]) for _ in range(3)]
    promise = "what is given at construction holds for every capture: each refuses an unknown mode, or none"
    alike = len({outcome is None for outcome in outcomes}) == 1
    expect(alike, promise, "; ".join(in_words(outcome) for outcome in outcomes))


def _outcome_of_a_capture(impl: Adapter, graph: Any) -> Exception | None:
    program = Affine(impl)

    def capture() -> None:
        with open_capture(impl, graph):
            program.body()
            graph.capture_end()

    outcome = caught(capture)
    if outcome is None:
        graph.reset()
    return outcome


@requirement("accelerator.settings-as-attributes")
def test_attributes(impl: Adapter, observe: Callable[[str, Any], None]) -> None:
    """Records whether there are attributes, and whether the next capture uses what was set."""
    holder, _ = captured(impl, Affine(impl).body)
    graph = impl.graph_class()
    for name in ("graph_pool", "capture_error_mode"):
        observe(f"has {name}", hasattr(graph, name))
    observe("setting graph_pool", in_words(caught(lambda: setattr(graph, "graph_pool", holder.pool()))))
    outcome = _outcome_of_a_capture(impl, graph)
    observe("a capture afterwards", in_words(outcome))
    if outcome is None:
        capture_into(impl, graph, Affine(impl).body)
        observe("pool() is the one that was set", equal(graph.pool(), holder.pool()))


@requirement("accelerator.several-blocks")
@pytest.mark.parametrize("streams", ["one-stream", "two-streams"])
def test_further_block(impl: Adapter, streams: str) -> None:
    """Three blocks of one graph, reset between them, each capture their own body only."""
    graph, first = impl.graph_class(), impl.new_stream()
    others = [first, first] if streams == "one-stream" else [impl.new_stream(), first]
    for turn, stream in enumerate([first, *others], start=1):
        counter = Counter(impl, step=float(turn))
        with side_stream(impl, stream):
            promise = "a graph captures in a with block, and after reset() in a further one"
            expect_no_raise(promise, partial(_in_block, graph, counter.body))
        for _ in range(3):
            graph.replay()
        counter.expect_runs(3, f"block {turn} of the graph captures its own body")
        impl.synchronize()
        expect_no_raise("a graph can be reset between two blocks", graph.reset)
        counter.expect_runs(3, "reset() runs nothing")


def _in_block(graph: Any, body: Callable[[], None]) -> None:
    with graph:
        body()


class _Entered:
    """A graph that was entered while it captured.

    Attributes:
        graph: the graph.
        x: gets one added before the entry and ten after it.
        entry, later, ending: what the entry, the work after it and capture_end raised.
    """

    def __init__(self, impl: Adapter) -> None:
        self.x, self.graph = impl.full(37, 0.0), impl.graph_class()
        with side_stream(impl):
            self.graph.capture_begin()
            try:
                self.x.add_(1)
                self.entry = caught(self.graph.__enter__)
                self.later = caught(lambda: self.x.add_(10))
            finally:
                self.ending = caught(self.graph.capture_end)
                if impl.is_current_stream_capturing():
                    impl.abort_capture(self.graph)


@requirement("accelerator.block-in-block")
def test_block_in_block(impl: Adapter) -> None:
    """Entering a graph that captures is refused; whatever happens to the capture, the graph can capture again."""
    outcome = _Entered(impl)
    expect(is_refusal(outcome.entry), "a graph that is capturing cannot be entered again", in_words(outcome.entry))
    expect_no_raise("such a graph can be reset", outcome.graph.reset)
    expect_capture(impl, outcome.graph, "a graph whose entry was refused captures again after reset()")


@requirement("accelerator.block-in-block-harmless")
def test_capture_survives_the_entry(impl: Adapter) -> None:
    """The capture goes on after the refused entry, ends and replays."""
    outcome = _Entered(impl)
    message = (
        f"later work: {in_words(outcome.later)}; capture_end: {in_words(outcome.ending)}; "
        f"the entry: {in_words(outcome.entry)}"
    )
    expect(outcome.later is None and outcome.ending is None, "the refused entry leaves the capture intact", message)
    for _ in range(3):
        outcome.graph.replay()
    expect_equal(impl, outcome.x, 33.0, "the capture has the work before and after the refused entry")
