"""Random operators in a graph."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from itertools import combinations, cycle
from typing import Any

import pytest
import torch

from conformance.adapter import Adapter, in_thread
from conformance.checks import expect
from conformance.markers import needs, requirement
from suites.replay.programs import results_of
from suites.support.captures import capture_between, captured

#: Each makes random numbers from a tensor of ones that holds 37 elements.
DRAWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "rand": lambda ones: torch.rand(37, device=ones.device),
    "randn": lambda ones: torch.randn(37, device=ones.device),
    "randint": lambda ones: torch.randint(0, 1 << 20, (37,), device=ones.device),
    "in-place": lambda ones: torch.empty_like(ones).uniform_(-1.0, 1.0),
    "dropout": lambda ones: torch.nn.functional.dropout(ones, 0.5),
    "two-draws": lambda ones: torch.rand(37, device=ones.device) + torch.randn(37, device=ones.device),
}
TIMES = 4

#: Replays, and gives the numbers that were drawn.
_Draws = Callable[[], torch.Tensor]


def _same(results: list[torch.Tensor], expected: list[torch.Tensor]) -> list[bool]:
    return [bool(torch.equal(one, other)) for one, other in zip(results, expected, strict=True)]


@pytest.mark.parametrize("kind", ["rand", "in-place", "dropout"])
@requirement("replay.random-fresh")
def test_each_replay_draws_new_numbers(impl: Adapter, kind: str) -> None:
    """No two of several replays give the same numbers."""
    ones = impl.full(37, 1.0)
    impl.manual_seed(1234)
    graph, y = captured(impl, lambda: DRAWS[kind](ones))
    results = results_of(impl, graph.replay, y, TIMES)
    equal = [pair for pair in combinations(range(TIMES), 2) if torch.equal(results[pair[0]], results[pair[1]])]
    expect(not equal, "each replay draws new random numbers", f"replays with equal numbers: {equal}")


@pytest.mark.parametrize("kind", ["rand", "dropout"])
@requirement("replay.random-fresh")
def test_numbers_have_their_distribution(impl: Adapter, kind: str) -> None:
    """Replays give numbers of the captured distribution, in every element."""
    ones = impl.full(37, 1.0)
    impl.manual_seed(99)
    graph, y = captured(impl, lambda: DRAWS[kind](ones))
    for _ in range(3):
        y.fill_(-5.0)
        graph.replay()
        numbers = impl.read(y)
        in_range = (numbers >= 0.0) & (numbers < 1.0) if kind == "rand" else (numbers == 0.0) | (numbers == 2.0)
        expect(bool(in_range.all()), f"a replay gives numbers that {kind} can give", f"{numbers[~in_range].tolist()}")
        expect(len(set(numbers.tolist())) > 1, "the elements of a draw differ", f"all {numbers[0].item()}")


@pytest.mark.parametrize("kind", DRAWS)
@requirement("replay.random-as-eager")
def test_replay_k_is_eager_run_k(impl: Adapter, kind: str) -> None:
    """After the same seed, dozens of replays give the numbers of as many eager runs, in their order."""
    ones = impl.full(37, 1.0)
    impl.manual_seed(7)
    expected = [impl.read(DRAWS[kind](ones)) for _ in range(TIMES * 10)]
    graph, y = captured(impl, lambda: DRAWS[kind](ones))
    impl.manual_seed(7)
    same = _same(results_of(impl, graph.replay, y, TIMES * 10), expected)
    expect(all(same), "the k-th replay draws what the k-th eager run draws", f"equal, run by run: {same}")


@requirement("replay.random-as-eager")
def test_replays_among_eager_draws(impl: Adapter) -> None:
    """Eager draws and replays in turn share one sequence."""
    ones = impl.full(37, 1.0)
    impl.manual_seed(21)
    expected = [impl.read(DRAWS["rand"](ones)) for _ in range(6)]
    graph, y = captured(impl, lambda: DRAWS["rand"](ones))
    impl.manual_seed(21)
    results: list[torch.Tensor] = []
    for _ in range(3):
        graph.replay()
        results.append(impl.read(y))
        results.append(impl.read(DRAWS["rand"](ones)))
    same = _same(results, expected)
    expect(all(same), "replays and eager draws continue one another's sequence", f"equal, draw by draw: {same}")


def _on_a_side_stream(impl: Adapter, ones: torch.Tensor) -> _Draws:
    graph, y = captured(impl, lambda: DRAWS["rand"](ones))
    side = impl.new_stream()

    def draw() -> torch.Tensor:
        with impl.stream(side):
            graph.replay()
            return impl.read(y)

    return draw


def _in_two_threads_by_turns(impl: Adapter, ones: torch.Tensor) -> _Draws:
    graph, y = captured(impl, lambda: DRAWS["rand"](ones))
    elsewhere = cycle((False, True))

    def draw() -> torch.Tensor:
        if next(elsewhere):
            in_thread(graph.replay)
        else:
            graph.replay()
        impl.synchronize()
        return impl.read(y)

    return draw


def _after_a_recapture(impl: Adapter, ones: torch.Tensor) -> _Draws:
    graph, _ = captured(impl, lambda: DRAWS["randn"](ones))
    graph.replay()
    impl.reset(graph)
    y = capture_between(impl, graph, lambda: DRAWS["rand"](ones))

    def draw() -> torch.Tensor:
        graph.replay()
        return impl.read(y)

    return draw


def _among_refused_replays(impl: Adapter, ones: torch.Tensor) -> _Draws:
    graph, y = captured(impl, lambda: DRAWS["rand"](ones))
    empty = impl.new_graph()

    def draw() -> torch.Tensor:
        with contextlib.suppress(Exception):
            empty.replay()
        graph.replay()
        return impl.read(y)

    return draw


def _among_instantiations(impl: Adapter, ones: torch.Tensor) -> _Draws:
    graph, y = captured(impl, lambda: DRAWS["rand"](ones), keep_graph=True)

    def draw() -> torch.Tensor:
        graph.instantiate()
        graph.replay()
        return impl.read(y)

    return draw


#: With the optional features that they take.
PLACES: dict[str, tuple[Callable[[Adapter, torch.Tensor], _Draws], tuple[str, ...]]] = {
    "on-a-side-stream": (_on_a_side_stream, ()),
    "in-two-threads-by-turns": (_in_two_threads_by_turns, ("threads",)),
    "after-a-recapture": (_after_a_recapture, ()),
    "among-refused-replays": (_among_refused_replays, ()),
    "among-instantiations": (_among_instantiations, ("keep_graph",)),
}


@pytest.mark.parametrize(
    "place", [pytest.param(name, marks=[needs(*needed)] if needed else []) for name, (_, needed) in PLACES.items()]
)
@requirement("replay.random-as-eager")
def test_replay_k_is_eager_run_k_wherever(impl: Adapter, place: str) -> None:
    """Neither where a replay is launched nor what happened around it changes what it draws."""
    ones = impl.full(37, 1.0)
    impl.manual_seed(17)
    expected = [impl.read(DRAWS["rand"](ones)) for _ in range(TIMES)]
    draw = PLACES[place][0](impl, ones)
    impl.synchronize()
    impl.manual_seed(17)
    same = _same([draw() for _ in range(TIMES)], expected)
    expect(all(same), "the k-th replay draws what the k-th eager run draws", f"equal, run by run: {same}")


@requirement("replay.random-as-eager")
@needs("fork_join")
def test_draws_on_forked_streams(impl: Adapter) -> None:
    """Draws that no edge puts in order share the sequence in the order in which the program made them."""
    ones, side = impl.full(37, 1.0), impl.new_stream()

    def body() -> tuple[torch.Tensor, ...]:
        here = impl.current_stream()
        side.wait_stream(here)
        first = DRAWS["rand"](ones)
        with impl.stream(side):
            second = DRAWS["rand"](ones)
        third = DRAWS["randn"](ones)
        with impl.stream(side):
            fourth = DRAWS["randn"](ones)
        here.wait_stream(side)
        return first, second, third, fourth

    impl.manual_seed(13)
    expected = [[impl.read(draw) for draw in body()] for _ in range(TIMES)]
    graph, draws = captured(impl, body)
    impl.manual_seed(13)
    for run, numbers in enumerate(expected, 1):
        graph.replay()
        same = _same([impl.read(draw) for draw in draws], numbers)
        expect(all(same), "the k-th replay draws what the k-th eager run draws", f"run {run}, draw by draw: {same}")


@requirement("replay.random-reseed")
def test_seed_between_replays(impl: Adapter) -> None:
    """The same seed before a replay gives the same numbers, another seed others."""
    ones = impl.full(37, 1.0)
    graph, y = captured(impl, lambda: DRAWS["rand"](ones))
    results: dict[str, torch.Tensor] = {}
    for name, seed in (("first", 5), ("again", 5), ("other", 6)):
        impl.manual_seed(seed)
        y.fill_(-1.0)
        graph.replay()
        results[name] = impl.read(y)
    expect(torch.equal(results["first"], results["again"]), "the same seed gives the same replay", "other numbers")
    expect(not torch.equal(results["first"], results["other"]), "another seed gives another replay", "the same numbers")


@requirement("replay.random-capture-advance")
def test_capture_and_the_generator(impl: Adapter, observe: Callable[[str, Any], None]) -> None:
    """Records whether the capture of a random operator moves the generator on."""
    ones = impl.full(37, 1.0)
    impl.manual_seed(31)
    expected = impl.read(DRAWS["rand"](ones))
    impl.manual_seed(31)
    captured(impl, lambda: DRAWS["rand"](ones))
    observe("capture advances the generator", not torch.equal(impl.read(DRAWS["rand"](ones)), expected))
