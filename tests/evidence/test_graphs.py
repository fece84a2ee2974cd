"""What a test's graphs consist of is read from who can say it, as far as it has the right form."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import reference_impl
from conformance.adapter import Adapter
from conformance.adapters import reference
from conformance.evidence.calls import CallRing
from conformance.evidence.gathering import Evidence
from conformance.records.graphs import EDGES, GRAPHS, NODES, CapturedGraph, check_graphs
from conformance.records.shapes import check_shape


def fork(adapter: Adapter) -> Callable[[], None]:
    """Four operators: one, two beside each other, one."""
    x, y, side = adapter.full(5, 1.0), adapter.full(3, 1.0), adapter.new_stream()

    def body() -> None:
        x.add_(1)
        stream = adapter.current_stream()
        side.wait_stream(stream)
        x.mul_(2)
        with adapter.stream(side):
            y.mul_(3)
        stream.wait_stream(side)
        y.add_(4)

    return body


def gathered(
    adapter: Adapter, work: Callable[[], object], change: Callable[[], object] = lambda: None
) -> tuple[dict[str, Any], ...]:
    """What is read of the graphs that `work` leaves, after `change`."""
    evidence = Evidence({"it": adapter}, CallRing())
    try:
        with evidence.of_test("it"):
            kept = work()
        change()
        found = evidence.read("it", evidence.readable("it"))
        check_graphs(found)
        for entry in found:
            check_shape(entry, CapturedGraph)
        del kept
        return found
    finally:
        evidence.release()


def graphs_of(adapter: Adapter, count: int = 1, **settings: Any) -> Callable[[], list[Any]]:
    def work() -> list[Any]:
        graphs = [adapter.new_graph(keep_graph=True) for _ in range(count)]
        body = fork(adapter)
        for graph in graphs:
            with adapter.capture(graph, **settings):
                body()
        return graphs

    return work


def test_a_kept_graph_is_read_through_the_runtime() -> None:
    adapter = reference.adapter()
    (found,) = gathered(adapter, graphs_of(adapter, pool=adapter.graph_pool_handle()))
    assert {name: found[name] for name in ("name", "source", "state", "pool")} == {
        "name": "g0",
        "source": "runtime",
        "state": "captured",
        "pool": "p0",
    }
    assert [node["kind"] for node in found["nodes"]] == ["Kernel"] * 4
    assert sorted(map(tuple, found["edges"])) == [(0, 1), (0, 2), (1, 3), (2, 3)]
    assert (found["more_nodes"], found["more_edges"]) == (0, 0)


def test_the_class_gives_the_labels() -> None:
    adapter = reference.adapter()

    def work() -> list[Any]:
        graphs = graphs_of(adapter)()
        graphs[0].instantiate()
        return graphs

    (found,) = gathered(adapter, work)
    assert (found["source"], found["state"], found["pool"]) == ("runtime", "instantiated", "p0")
    assert [node["label"] for node in found["nodes"]] == [
        f"aten::{name}_.Tensor" for name in ("add", "mul", "mul", "add")
    ]


def test_without_a_runtime_the_class_is_asked() -> None:
    adapter = reference.adapter()
    adapter.runtime = None

    def work() -> list[Any]:
        graphs = graphs_of(adapter)()
        graphs[0].instantiate()
        return graphs

    (found,) = gathered(adapter, work)
    assert found["source"] == "graph data"
    assert sorted(map(tuple, found["edges"])) == [(0, 1), (0, 2), (1, 3), (2, 3)]


@pytest.mark.parametrize("keep_graph", [None, False])
def test_a_graph_whose_template_is_not_kept_is_left_alone(keep_graph: bool | None) -> None:
    adapter = reference.adapter()

    def work() -> Any:
        graph, body = adapter.new_graph(keep_graph), fork(adapter)
        with adapter.capture(graph):
            body()
        return graph

    assert gathered(adapter, work) == ()


@pytest.mark.parametrize("last", ["begin", "reset"])
def test_a_graph_without_a_finished_capture_is_left_alone(last: str) -> None:
    adapter = reference.adapter()
    x = adapter.full(5, 1.0)

    def work() -> Any:
        graph = adapter.new_graph(keep_graph=True)
        with adapter.stream(adapter.new_stream()):
            adapter.capture_begin(graph)
            x.add_(1)
            if last == "reset":
                graph.capture_end()
                graph.reset()
        return graph

    try:
        assert gathered(adapter, work) == ()
    finally:
        adapter.recover()


def test_what_is_declared_absent_is_not_asked() -> None:
    adapter = reference.adapter()
    adapter.capabilities = {"raw_handles": False, "graph_data": False}
    assert gathered(adapter, graphs_of(adapter)) == ()


def test_the_last_graphs_are_read_and_no_more() -> None:
    adapter = reference.adapter()
    found = gathered(adapter, graphs_of(adapter, GRAPHS + 3))
    assert [entry["name"] for entry in found] == [f"g{number}" for number in range(3, GRAPHS + 3)]


def test_a_large_graph_has_an_end() -> None:
    adapter = reference.adapter()
    x = adapter.full(5, 1.0)

    def work() -> Any:
        graph = adapter.new_graph(keep_graph=True)
        with adapter.capture(graph):
            for _ in range(NODES + 50):
                x.add_(1)
        return graph

    (found,) = gathered(adapter, work)
    assert (len(found["nodes"]), found["more_nodes"]) == (NODES, 50)
    assert (len(found["edges"]), found["more_edges"]) == (NODES - 1, 50)
    assert len(found["edges"]) <= EDGES


def _raise(*_: Any) -> Any:
    raise RuntimeError("no")


LIES: dict[str, Any] = {
    "nothing": lambda _: None,
    "raises": _raise,
    "no nodes": lambda _: {},
    "nodes of another kind": lambda _: {"nodes": 7},
    "dependents of another kind": lambda _: {"nodes": [{"node_type": "Kernel", "dependents": ["x"]}]},
}


@pytest.mark.parametrize("lie", LIES)
def test_a_class_that_does_not_say_is_left_out(lie: str) -> None:
    class Liar(reference_impl.CUDAGraph):
        get_graph_data = LIES[lie]

    adapter = reference.adapter()
    adapter.graph_class, adapter.runtime = Liar, None

    def work() -> list[Any]:
        graphs = graphs_of(adapter)()
        graphs[0].instantiate()
        return graphs

    assert gathered(adapter, work) == ()


def test_edges_to_nowhere_are_passed_on_and_do_no_harm() -> None:
    class Liar(reference_impl.CUDAGraph):
        def get_graph_data(self) -> dict[str, Any]:
            return {"nodes": [{"node_type": "K" * 10_000, "kernel_name": 7, "dependents": [0, 5, -3, 10**30]}]}

    adapter = reference.adapter()
    adapter.graph_class, adapter.runtime = Liar, None

    def work() -> list[Any]:
        graphs = graphs_of(adapter)()
        graphs[0].instantiate()
        return graphs

    (found,) = gathered(adapter, work)
    assert found["edges"] == [[0, 0], [0, 5]]
    assert (found["more_edges"], len(found["nodes"][0]["kind"]), found["nodes"][0]["label"]) == (2, 200, "7")


@pytest.mark.parametrize("handle", [0, 12345])
def test_a_handle_that_the_runtime_refuses_gives_no_graph(handle: int) -> None:
    adapter = reference.adapter()
    adapter.capabilities = {"graph_data": False}
    assert gathered(adapter, graphs_of(adapter), lambda: setattr(adapter, "raw_graph", lambda _: handle)) == ()


def test_a_slow_runtime_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 1000, 3))
    monkeypatch.setattr("conformance.evidence.graphs.time", SimpleNamespace(monotonic=lambda: next(clock)))
    adapter = reference.adapter()
    assert gathered(adapter, graphs_of(adapter, 2)) == ()
