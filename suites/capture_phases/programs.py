"""Captures that end in two phases."""

from __future__ import annotations

import contextlib
from typing import Any

from conformance.adapter import Adapter
from suites.support.handles import exec_handle
from suites.support.phases import capture_pre, finish
from suites.support.programs import Affine


def begun(impl: Adapter, *, keep_graph: bool) -> tuple[Any, Affine]:
    """A graph between the phases, and its program."""
    graph, program = impl.new_graph(keep_graph), Affine(impl)
    capture_pre(impl, graph, program.body)
    return graph, program


def finished(impl: Adapter, *, keep_graph: bool) -> tuple[Any, Affine]:
    """A graph that went through both phases and replays, and its program."""
    graph, program = begun(impl, keep_graph=keep_graph)
    finish(graph, keep_graph=keep_graph)
    return graph, program


def has_executable(impl: Adapter, graph: Any) -> bool:
    """Whether the executable's handle can be read."""
    with contextlib.suppress(Exception):
        return bool(exec_handle(impl, graph))
    return False
