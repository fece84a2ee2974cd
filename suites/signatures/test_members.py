"""The documented methods exist, on the class and on its instances."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_no_raise
from conformance.markers import requirement
from suites.signatures.programs import expect_member, expect_parameter
from suites.support.captures import capture_into, captured, replay
from suites.support.outcomes import caught, in_words
from suites.support.streams import side_stream, stream_kept


@pytest.mark.parametrize("name", ["capture_begin", "capture_end", "replay"])
@requirement("signatures.core-members")
def test_core(impl: Adapter, name: str) -> None:
    """Capture and replay."""
    expect_member(impl, name)


@requirement("signatures.pool-member")
def test_pool(impl: Adapter) -> None:
    """The memory pool's token."""
    expect_member(impl, "pool")


@requirement("signatures.reset-member")
def test_reset(impl: Adapter) -> None:
    """Deleting the held graph."""
    expect_member(impl, "reset")


@requirement("signatures.reset-elsewhere")
def test_reset_elsewhere(impl: Adapter, observe: Any) -> None:
    """Records whether there is a way to delete the held graph, where the class's own page is silent."""
    observe("reset", callable(getattr(impl.graph_class, "reset", None)))


@requirement("signatures.instantiate-member")
def test_instantiate(impl: Adapter) -> None:
    """Making the executable."""
    expect_member(impl, "instantiate")


@requirement("signatures.raw-graph-member")
def test_raw_graph(impl: Adapter) -> None:
    """The template's handle."""
    expect_member(impl, "raw_xpu_graph" if impl.dialect == "xpu" else "raw_cuda_graph")


@requirement("signatures.raw-exec-member")
def test_raw_exec(impl: Adapter) -> None:
    """The executable's handle."""
    expect_member(impl, "raw_xpu_graph_exec" if impl.dialect == "xpu" else "raw_cuda_graph_exec")


@pytest.mark.parametrize("name", ["enable_debug_mode", "debug_dump"])
@requirement("signatures.debug-members")
def test_debug(impl: Adapter, name: str) -> None:
    """Dumping the graph."""
    expect_member(impl, name)


@requirement("signatures.graph-data-member")
def test_graph_data(impl: Adapter) -> None:
    """The graph's nodes as data."""
    expect_member(impl, "get_graph_data")


@pytest.mark.parametrize("name", ["register_capture_end_hook", "register_post_instantiate_hook"])
@requirement("signatures.hook-members")
def test_hooks(impl: Adapter, name: str) -> None:
    """Registering hooks."""
    expect_member(impl, name)


@pytest.mark.parametrize("way", ["position", "keyword"])
@pytest.mark.parametrize("name", ["register_capture_end_hook", "register_post_instantiate_hook"])
@requirement("signatures.hook-argument")
def test_hook_argument(impl: Adapter, name: str, way: str) -> None:
    """The hook is taken either way, is all that is taken, and runs."""
    graph, x = impl.new_graph(), impl.full(37, 0.0)
    register = getattr(graph, name)
    expect_parameter(register, name, "hook", default=inspect.Parameter.empty, position=0)
    calls: list[Any] = []
    promise = f"{name} takes a hook by {way}"
    expect_no_raise(promise, lambda: register(calls.append) if way == "position" else register(hook=calls.append))
    capture_into(impl, graph, lambda: x.add_(1.0))
    with_the_graph = [argument is graph for argument in calls]
    calls.clear()  # or the graph and its hook would keep each other
    expect(with_the_graph == [True], promise, f"of {len(with_the_graph)} calls {sum(with_the_graph)} had the graph")


@pytest.mark.parametrize("name", ["capture_end_pre", "capture_end_post"])
@requirement("signatures.capture-phase-members")
def test_capture_phases(impl: Adapter, name: str) -> None:
    """Ending a capture in two phases."""
    expect_member(impl, name)


@requirement("signatures.pools-member")
def test_pools(impl: Adapter) -> None:
    """The tokens of all retained pools."""
    expect_member(impl, "pools")


@requirement("signatures.no-arguments")
def test_calls_without_arguments(impl: Adapter) -> None:
    """capture_begin, capture_end and replay are called with nothing but the graph."""
    x = impl.full(37, 0.0)
    graph = impl.new_graph()
    with side_stream(impl):
        expect_no_raise("capture_begin needs no argument", graph.capture_begin)
        try:
            x.add_(1.0)
            expect_no_raise("capture_end needs no argument", graph.capture_end)
        except BaseException:
            impl.abort_capture(graph)
            raise
    for _ in range(3):
        expect_no_raise("replay needs no argument", graph.replay)
    expect_equal(impl, x, 3.0, "a graph captured without arguments replays its work")


@requirement("signatures.subclass")
def test_subclass(impl: Adapter, observe: Any) -> None:
    """Records whether the class can be subclassed, and whether a subclass with a method of its own captures."""
    x = impl.full(37, 0.0)

    def use() -> None:
        derived: Any = type("Derived", (impl.graph_class,), {"answer": lambda _self: 42})
        graph = derived()
        with impl.capture(graph):
            x.add_(graph.answer())
        graph.replay()

    with stream_kept(impl):
        error = caught(use)
    observe("subclass", in_words(error) if error is not None else f"replays: {bool((impl.read(x) == 42.0).all())}")


@requirement("signatures.no-arguments")
def test_calls_with_the_context_manager(impl: Adapter) -> None:
    """A graph alone is enough for a capture with the context manager."""
    x = impl.full(37, 0.0)
    graph, _ = captured(impl, lambda: x.add_(2.0))
    replay(impl, graph, times=3)
    expect_equal(impl, x, 6.0, "a graph captured without arguments replays its work")
