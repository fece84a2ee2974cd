"""Calls that a graph's state does not allow, each with the states."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.errors import Unsupported
from suites.misuse.programs import (
    State,
    captured,
    capturing,
    capturing_keep,
    failed,
    name,
    new,
    new_keep,
    reset,
    reset_keep,
    template,
)
from suites.support.needs import need_capability
from suites.support.outcomes import caught
from suites.support.programs import Affine
from suites.support.streams import stream_kept


def require(impl: Adapter, capability: str | None) -> None:
    """Give the test up unless the implementation owes the capability."""
    if capability is not None:
        need_capability(impl, capability)


@dataclass(frozen=True)
class Call:
    """A call on a graph in a state that has not what it needs.

    Attributes:
        make: makes the call on the graph; the path is for files.
        states: in which.
        capability: what the call is part of.
    """

    make: Callable[[Adapter, Any, Path], Any]
    states: Sequence[State]
    capability: str | None = None


#: The states that only a graph with keep_graph=True is brought into, and those that take a reset().
KEPT = (new_keep, capturing_keep, template, reset_keep)
RESET = (reset, reset_keep)


def begin(impl: Adapter, graph: Any, _path: Path) -> None:
    impl.capture_begin(graph)
    impl.abort_capture(graph)


def _block(impl: Adapter, graph: Any, _path: Path) -> None:
    with impl.capture(graph):
        pass


def _end_elsewhere(impl: Adapter, graph: Any, _path: Path) -> None:
    with impl.stream(impl.new_stream()):
        graph.capture_end()


def _pools(_impl: Adapter, graph: Any, _path: Path) -> None:
    if not hasattr(graph, "pools"):
        raise Unsupported("the class has no pools(), and not every page lists one")
    graph.pools()


CALLS: dict[str, Call] = {
    "replay": Call(lambda _, graph, __: graph.replay(), (new, capturing, failed, reset)),
    "lazy-replay": Call(lambda _, graph, __: graph.replay(), (new_keep, capturing_keep, reset_keep), "keep_graph"),
    "instantiate": Call(
        lambda _, graph, __: graph.instantiate(), (new, new_keep, capturing_keep, captured, reset_keep), "keep_graph"
    ),
    "pools": Call(_pools, (new, capturing, reset), "pools"),
    "pool": Call(lambda _, graph, __: graph.pool(), (new, capturing, reset), "pools"),
    "template": Call(lambda impl, graph, _: impl.raw_graph(graph), (new_keep, capturing, captured), "raw_handles"),
    "executable": Call(lambda impl, graph, _: impl.raw_exec(graph), (new, capturing, template), "raw_handles"),
    "debug-dump": Call(lambda impl, graph, path: impl.debug_dump(graph, str(path)), (new, captured), "debug_dump"),
    "graph-data": Call(lambda _, graph, __: graph.get_graph_data(), (new, captured, template), "graph_data"),
    "capture-begin": Call(begin, (captured, template)),
    "block": Call(_block, (captured, template)),
    "capture-end": Call(lambda _, graph, __: graph.capture_end(), (new, captured, failed, reset)),
    "capture-end-elsewhere": Call(_end_elsewhere, (capturing,)),
    "capture-end-pre": Call(lambda _, graph, __: graph.capture_end_pre(), (new, captured), "capture_phases"),
    "capture-end-post": Call(lambda _, graph, __: graph.capture_end_post(), (new, capturing, reset), "capture_phases"),
    "reset": Call(lambda _, graph, __: graph.reset(), (capturing,)),
}


def in_each_state() -> pytest.MarkDecorator:
    """Run a test once for each call of `CALLS`, by its `key`, and each `state` of the call."""
    cases = [(key, state) for key, call in CALLS.items() for state in call.states]
    return pytest.mark.parametrize(("key", "state"), cases, ids=[f"{key}-{name(state)}" for key, state in cases])


def refusal(impl: Adapter, key: str, state: State, folder: Path) -> Exception | None:
    """What the call `key` of `CALLS` raises in a state.

    Raises:
        Unsupported: the class does not owe the call, or cannot be brought into the state.
    """
    call = CALLS[key]
    require(impl, call.capability)
    if state in KEPT:
        require(impl, "keep_graph")
    if key == "reset" or state in RESET:
        impl.need_reset()
    with stream_kept(impl), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class may warn where debugging is off, or of what it ignores
        with impl.stream(impl.new_stream()), state(impl, Affine(impl)) as graph:
            return caught(lambda: call.make(impl, graph, folder / "graph.dot"))
