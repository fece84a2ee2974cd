"""Captures that end in two phases."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from conformance.adapter import Adapter
from suites.failed_capture.programs import Affine, in_words, open_capture
from suites.raw_handles.programs import exec_handle

KEEP = pytest.mark.parametrize("keep_graph", [False, True], ids=["not-kept", "kept"])


def capture_pre(impl: Adapter, graph: Any, body: Callable[[], Any]) -> Any:
    """Capture `body` and end the capture with the first phase only; return what `body` returned."""
    with open_capture(impl, graph):
        result = body()
        graph.capture_end_pre()
    return result


def begun(impl: Adapter, *, keep_graph: bool) -> tuple[Any, Affine]:
    """A graph between the phases, and its program."""
    graph, program = impl.new_graph(keep_graph), Affine(impl)
    capture_pre(impl, graph, program.body)
    return graph, program


def instantiate_between(graph: Any) -> str:
    """Make the executable between the phases by a means that the class has; in words, by which.

    The documents leave open who makes it: the caller before the second phase, or the second phase itself.  A class
    that refuses all of the caller's means is taken to have decided for the latter.
    """
    tried: list[str] = []
    for name in ("instantiate", "replay"):
        try:
            getattr(graph, name)()
        except RuntimeError as error:
            tried.append(f"{name} between the phases: {in_words(error)}")
        else:
            return f"{name} between the phases"
    return "; ".join(tried)


def finish(graph: Any, *, keep_graph: bool) -> str:
    """Go from between the phases to a graph that replays; in words, how it was instantiated."""
    how = "the first replay" if keep_graph else instantiate_between(graph)
    graph.capture_end_post()
    return how


def finished(impl: Adapter, *, keep_graph: bool) -> tuple[Any, Affine]:
    """A graph that went through both phases and replays, and its program."""
    graph, program = begun(impl, keep_graph=keep_graph)
    finish(graph, keep_graph=keep_graph)
    return graph, program


def has_executable(impl: Adapter, graph: Any) -> bool:
    """Whether the executable's handle can be read."""
    with contextlib.suppress(RuntimeError):
        return bool(exec_handle(impl, graph))
    return False
