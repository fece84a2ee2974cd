"""Settings that a page gives to another call, or to another class: refused, or done, and never taken and ignored."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

from conformance.adapter import Adapter
from conformance.checks import expect, expect_raises, is_refusal
from conformance.markers import requirement
from suites.support.captures import capture_into
from suites.support.modes import unsafe
from suites.support.outcomes import caught, in_words
from suites.support.programs import POISON, SIZE
from suites.support.streams import side_stream, stream_kept

Capture = Callable[[Callable[[], Any]], Any]
WHERE = pytest.mark.parametrize("where", ["constructor", "capture-begin"])


def _between(impl: Adapter, where: str, **settings: Any) -> Capture:
    """A capture between the two calls, with the settings given to the constructor or to capture_begin."""

    def capture(body: Callable[[], Any]) -> Any:
        graph = impl.graph_class(**settings if where == "constructor" else {})
        with side_stream(impl):
            graph.capture_begin(**settings if where == "capture-begin" else {})
            try:
                body()
                graph.capture_end()
            except BaseException:
                impl.abort_capture(graph)
                raise
        return graph

    return capture


def _in_block(impl: Adapter, **settings: Any) -> Capture:
    """A capture by the context manager with the settings."""

    def capture(body: Callable[[], Any]) -> Any:
        graph = impl.new_graph()
        capture_into(impl, graph, body, **settings)
        return graph

    return capture


def _ignored(impl: Adapter, capture: Capture, body: Callable[[], Any]) -> Any:
    """The graph of a capture that took its settings without a word; ``None`` if they, or the capture, were refused."""
    graphs: list[Any] = []
    with stream_kept(impl), warnings.catch_warnings(record=True) as entries:
        warnings.simplefilter("always")
        error = caught(lambda: graphs.append(capture(body)))
    return graphs[0] if error is None and not entries else None


def _expect_mode(impl: Adapter, mode: str, capture: Capture) -> None:
    """Reject a capture that takes the mode, and refuses in relaxed mode or refuses nothing in global mode."""
    calls: list[Exception | None] = []
    tensor = impl.full(SIZE, 1.0)
    call = unsafe(impl)

    def body() -> None:
        tensor.add_(1)
        calls.append(caught(call))

    with stream_kept(impl), warnings.catch_warnings(record=True) as entries:
        warnings.simplefilter("always")
        caught(lambda: capture(body))  # a refused call may spoil the capture
    for error in [] if entries else calls:
        done = error is None if mode == "relaxed" else is_refusal(error)
        promise = f"capture_error_mode={mode!r} is refused where it is not documented, or has its effect"
        expect(done, promise, f"it was taken; an unsafe call of the capturing thread: {in_words(error)}")


def _expect_check(impl: Adapter, capture: Capture) -> None:
    """Reject a capture that takes check_input_liveness, and whose graph replays without its input."""
    # Neighbours in the allocator's block keep its memory mapped: a class without the check reads it once more.
    neighbours = [impl.full(SIZE, 0.0)]
    inputs, out = [impl.full(SIZE, 1.0)], impl.full(SIZE, POISON)
    neighbours.append(impl.full(SIZE, 0.0))
    graph = _ignored(impl, capture, lambda: torch.add(inputs[0], 1.0, out=out))
    inputs.clear()
    if graph is not None:
        promise = "check_input_liveness is refused where it is not documented, or replays without an input are refused"
        expect_raises(promise, graph.replay)


@requirement("signatures.settings-elsewhere")
@WHERE
@pytest.mark.parametrize("mode", ["global", "relaxed"])
def test_mode(impl: Adapter, mode: str, where: str) -> None:
    """A mode decides about an unsafe call, wherever it is taken."""
    _expect_mode(impl, mode, _between(impl, where, capture_error_mode=mode))


@requirement("signatures.settings-elsewhere")
@WHERE
def test_liveness(impl: Adapter, where: str) -> None:
    """A check of the inputs is made, wherever it is taken."""
    _expect_check(impl, _between(impl, where, check_input_liveness=True))


@requirement("signatures.settings-elsewhere-in-block")
@pytest.mark.parametrize("mode", ["global", "relaxed"])
def test_mode_of_a_block(impl: Adapter, mode: str) -> None:
    """The context manager's mode decides about an unsafe call, where it takes one."""
    _expect_mode(impl, mode, _in_block(impl, mode=mode))


@requirement("signatures.settings-elsewhere-in-block")
def test_liveness_of_a_block(impl: Adapter) -> None:
    """The context manager's check of the inputs is made, where it takes one."""
    _expect_check(impl, _in_block(impl, liveness=True))
