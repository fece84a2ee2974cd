"""Memory returns after reset() whatever the graph went through before it."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch

from conformance.adapter import Adapter, in_thread
from conformance.markers import needs, requirement
from suites.support.captures import capture_between, captured, replay
from suites.support.hooks import MOMENTS, register
from suites.support.memory import check_returns
from suites.support.phases import capture_pre, finish
from suites.support.programs import chain

SIZE = 30011

#: Makes a graph over a source, and lets it live for a while.
Life = Callable[[Adapter, torch.Tensor], Any]


def _kept_and_not_replayed(impl: Adapter, source: torch.Tensor) -> Any:
    return captured(impl, lambda: chain(source, 4), keep_graph=True)[0]


def _instantiated_again(impl: Adapter, source: torch.Tensor) -> Any:
    graph, _ = captured(impl, lambda: chain(source, 4), keep_graph=True)
    for _ in range(3):
        graph.instantiate()
        replay(impl, graph)
    return graph


def _replayed_elsewhere(impl: Adapter, source: torch.Tensor) -> Any:
    graph, _ = captured(impl, lambda: chain(source, 4))
    for _ in range(2):
        with impl.stream(impl.new_stream()):
            replay(impl, graph)
    return graph


def _captured_in_another_thread(impl: Adapter, source: torch.Tensor) -> Any:
    graph = impl.new_graph()
    in_thread(lambda: capture_between(impl, graph, lambda: chain(source, 4) is None))
    replay(impl, graph)
    return graph


def _reset_in_another_thread(impl: Adapter, source: torch.Tensor) -> Any:
    graph, _ = captured(impl, lambda: chain(source, 4))
    in_thread(lambda: replay(impl, graph))
    in_thread(lambda: impl.reset(graph))
    return graph


def _refused_calls(impl: Adapter, source: torch.Tensor) -> Any:
    graph = impl.new_graph()
    with contextlib.suppress(Exception):
        graph.replay()
    with contextlib.suppress(TypeError):
        graph.capture_begin(*["more", "arguments", "than", "any", "class", "takes"])
    capture_between(impl, graph, lambda: chain(source, 4) is None)
    return graph


def _with_hooks(impl: Adapter, source: torch.Tensor) -> Any:
    graph = impl.new_graph(keep_graph=True)
    for moment in MOMENTS:
        register(graph, moment, lambda _: None)
        register(graph, moment, lambda _: None).remove()
    capture_between(impl, graph, lambda: chain(source, 4) is None)
    replay(impl, graph)
    return graph


def _checked_inputs(impl: Adapter, source: torch.Tensor) -> Any:
    graph, _ = captured(impl, lambda: chain(source, 4), liveness=True)
    replay(impl, graph, 2)
    return graph


def _ended_in_two_steps(impl: Adapter, source: torch.Tensor) -> Any:
    graph = impl.new_graph()
    capture_pre(impl, graph, lambda: chain(source, 4) is None)
    finish(graph, keep_graph=False)
    replay(impl, graph)
    return graph


def _nothing_captured(impl: Adapter, _source: torch.Tensor) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an empty capture may warn
        graph, _ = captured(impl, lambda: None)
    replay(impl, graph)
    return graph


#: With the optional features that they take.
LIVES: Mapping[str, tuple[Life, tuple[str, ...]]] = {
    "kept-and-not-replayed": (_kept_and_not_replayed, ("keep_graph",)),
    "instantiated-again": (_instantiated_again, ("keep_graph",)),
    "replayed-elsewhere": (_replayed_elsewhere, ()),
    "captured-in-another-thread": (_captured_in_another_thread, ("threads",)),
    "reset-in-another-thread": (_reset_in_another_thread, ("threads",)),
    "refused-calls": (_refused_calls, ()),
    "with-hooks": (_with_hooks, ("hooks", "keep_graph")),
    "checked-inputs": (_checked_inputs, ("liveness",)),
    "ended-in-two-steps": (_ended_in_two_steps, ("capture_phases",)),
    "nothing-captured": (_nothing_captured, ()),
}


@requirement("pools.memory-returns-after-reset")
@pytest.mark.parametrize(
    "life", [pytest.param(name, marks=[needs(*needed)] if needed else []) for name, (_, needed) in LIVES.items()]
)
def test_memory_returns_after_a_life(impl: Adapter, life: str) -> None:
    """The same three times: a graph that was used in one of the ways that there are, and reset."""
    lead, _ = LIVES[life]
    source = impl.full(SIZE, 1.0)
    check_returns(
        impl,
        lambda: impl.reset(lead(impl, source)),
        "memory returns to its baseline after reset(), whatever the graph was used for",
    )
