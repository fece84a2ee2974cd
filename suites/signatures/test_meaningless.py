"""Arguments for methods that are documented without any."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect, expect_no_raise, expect_raises
from conformance.markers import requirement
from suites.support.captures import capture_into, open_capture
from suites.support.dumps import quiet
from suites.support.programs import Affine
from suites.support.streams import side_stream

HOW = pytest.mark.parametrize("how", ["position", "keyword"])


def _with_an_argument(method: Callable[..., Any], how: str) -> Callable[[], Any]:
    """A call of `method` with an object that means nothing to anybody."""
    return (lambda: method(object())) if how == "position" else lambda: method(no_such_argument=object())


def _of_a_finished_graph(impl: Adapter) -> list[str]:
    """The methods without arguments that a graph with an executable has."""
    names = ["replay"]
    handles = ["raw_xpu_graph", "raw_xpu_graph_exec"] if impl.dialect == "xpu" else ["raw_cuda_graph"]
    for capability, members in {
        "keep_graph": ["instantiate"],
        "pools": ["pool", "pools"],
        "raw_handles": [*handles, "raw_cuda_graph_exec"],
        "graph_data": ["get_graph_data"],
        "debug_dump": ["enable_debug_mode"],
    }.items():
        if impl.owes(capability):
            names += members
    return [name for name in (*names, "reset") if callable(getattr(impl.graph_class, name, None))]


@requirement("signatures.meaningless-argument-refused")
@HOW
def test_finished_graph(impl: Adapter, how: str) -> None:
    """Each method of a graph that could do its work refuses, and the graph is as it was."""
    program, graph = Affine(impl), impl.new_graph(True if impl.owes("keep_graph") else None)
    capture_into(impl, graph, program.body)
    program.check(impl, graph, "a graph replays its work")
    for name in _of_a_finished_graph(impl):
        with quiet():
            expect_raises(f"{name} takes no argument", _with_an_argument(getattr(graph, name), how))
        program.check(impl, graph, f"a graph replays its work after {name} was refused")


@requirement("signatures.meaningless-argument-refused")
@HOW
def test_capturing_graph(impl: Adapter, how: str) -> None:
    """capture_end refuses, and the capture goes on."""
    program, graph = Affine(impl), impl.new_graph()
    with open_capture(impl, graph):
        program.first_half()
        expect_raises("capture_end takes no argument", _with_an_argument(graph.capture_end, how))
        promise = "a refused capture_end leaves the capture under way"
        expect_no_raise(promise, program.second_half)
        expect_no_raise(promise, graph.capture_end)
    program.check(impl, graph, promise)


@requirement("signatures.capture-begin-argument-refused")
@HOW
def test_beginning(impl: Adapter, how: str) -> None:
    """The accelerator class's capture_begin refuses, and begins nothing."""
    graph = impl.new_graph()
    with side_stream(impl):
        try:
            expect_raises("capture_begin takes no argument", _with_an_argument(graph.capture_begin, how))
            expect(not impl.is_current_stream_capturing(), "a refused capture_begin begins nothing", "it began")
        except BaseException:
            impl.abort_capture(graph)
            raise


@requirement("signatures.capture-phases-argument-refused")
@HOW
def test_phases(impl: Adapter, how: str) -> None:
    """Both phases refuse, and the capture goes on."""
    program, graph = Affine(impl), impl.new_graph()
    with open_capture(impl, graph):
        program.body()
        expect_raises("capture_end_pre takes no argument", _with_an_argument(graph.capture_end_pre, how))
        graph.capture_end_pre()
        expect_raises("capture_end_post takes no argument", _with_an_argument(graph.capture_end_post, how))
        graph.capture_end_post()
    program.check(impl, graph, "a graph replays its work after a phase with an argument was refused")
