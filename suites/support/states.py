"""Graphs made and brought into a named state."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.adapter import Adapter
from suites.support.captures import captured, replay
from suites.support.programs import Counter

#: Whether the graph keeps its template.
KEEP = pytest.mark.parametrize("keep_graph", [False, True], ids=["not-kept", "kept"])
#: States of a graph that holds a capture, by readable name.
HELD_STATES = ("executable-only", "template-only", "kept-and-instantiated", "kept-and-replayed")


def graph_in_state(impl: Adapter, state: str, counter: Counter) -> Any:
    """A graph that holds the program of `counter`, in one of `HELD_STATES`.

    Reaching "kept-and-replayed" runs the program once.
    """
    graph, _ = captured(impl, counter.body, keep_graph=None if state == "executable-only" else True)
    if state == "kept-and-instantiated":
        graph.instantiate()
    elif state == "kept-and-replayed":
        replay(impl, graph)
    return graph


def runs_so_far(state: str) -> int:
    """How often bringing a graph into `state` ran its program."""
    return 1 if state == "kept-and-replayed" else 0
