"""Debug mode is for dumps: it does not stand in for keep_graph=True."""

from __future__ import annotations

from typing import Any

from conformance.adapter import Adapter
from conformance.checks import expect, expect_no_raise
from conformance.markers import requirement
from suites.support.dumps import debugged
from suites.support.handles import exec_handle, expect_no_handle
from suites.support.programs import Affine


def _debugged(impl: Adapter) -> tuple[Any, Affine]:
    program = Affine(impl)
    return debugged(impl, program.body, keep_graph=False), program


@requirement("xpu.template-needs-keep-graph")
def test_no_template_without_keep_graph(impl: Adapter) -> None:
    """In debug mode the template's handle still needs keep_graph=True."""
    graph, program = _debugged(impl)
    expect_no_handle("the template's handle needs keep_graph=True, in debug mode too", lambda: impl.raw_graph(graph))
    program.check(impl, graph, "a refused handle changes nothing about replays")


@requirement("xpu.template-needs-keep-graph")
def test_template_with_keep_graph(impl: Adapter) -> None:
    """With keep_graph=True the handle can be read in debug mode."""
    program = Affine(impl)
    graph = debugged(impl, program.body, keep_graph=True)
    expect_no_raise("with keep_graph=True the template's handle can be read", lambda: impl.raw_graph(graph))
    program.check(impl, graph, "a graph in debug mode replays")


@requirement("xpu.executable-in-debug-mode")
def test_executable_at_capture_end(impl: Adapter) -> None:
    """In debug mode without keep_graph capture_end makes the executable."""
    graph, program = _debugged(impl)
    promise = "without keep_graph capture_end makes the executable, in debug mode too"
    handle = expect_no_raise(promise, lambda: exec_handle(impl, graph))
    program.check(impl, graph, "a graph in debug mode replays")
    expect(exec_handle(impl, graph) == handle, "replays make no further executable", "the handle changed")


@requirement("xpu.executable-in-debug-mode")
def test_no_executable_with_keep_graph(impl: Adapter) -> None:
    """In debug mode with keep_graph=True the executable needs instantiate()."""
    program = Affine(impl)
    graph = debugged(impl, program.body, keep_graph=True)
    promise = "with keep_graph=True the executable's handle needs an instantiate(), in debug mode too"
    expect_no_handle(promise, lambda: exec_handle(impl, graph))
    graph.instantiate()
    expect_no_raise("after instantiate() the executable's handle can be read", lambda: exec_handle(impl, graph))
    program.check(impl, graph, "a graph in debug mode replays")
