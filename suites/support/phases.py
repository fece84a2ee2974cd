"""Captures that end in two phases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.adapter import Adapter
from suites.support.captures import open_capture
from suites.support.outcomes import in_words


def capture_pre(impl: Adapter, graph: Any, body: Callable[[], Any]) -> Any:
    """Capture `body` and end the capture with the first phase only; return what `body` returned."""
    with open_capture(impl, graph):
        result = body()
        graph.capture_end_pre()
    return result


def instantiate_between(graph: Any) -> str:
    """Make the executable between the phases by a means that the class has; in words, by which.

    The documents leave open who makes it: the caller before the second phase, or the second phase itself.  A class
    that refuses all of the caller's means is taken to have decided for the latter.
    """
    attempts: list[str] = []
    for name in ("instantiate", "replay"):
        try:
            getattr(graph, name)()
        except Exception as error:
            attempts.append(f"{name} between the phases: {in_words(error)}")
        else:
            return f"{name} between the phases"
    return "; ".join(attempts)


def finish(graph: Any, *, keep_graph: bool) -> str:
    """Go from between the phases to a graph that replays; in words, how it was instantiated."""
    how = "the first replay" if keep_graph else instantiate_between(graph)
    graph.capture_end_post()
    return how
