"""The handles are for the runtime: its functions find the captured work behind them."""

from __future__ import annotations

import itertools
import warnings

import pytest
import torch

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal
from conformance.markers import requirement
from suites.support.captures import capture_into, captured, replay
from suites.support.editor import Editor
from suites.support.handles import launch, runtime_call
from suites.support.programs import Counter
from suites.support.template import Template


@requirement("raw-handles.template-has-captured-nodes")
@pytest.mark.parametrize("operators", [1, 4], ids=["one-operator", "four-operators"])
def test_nodes_of_the_template_are_the_captured_work(impl: Adapter, operators: int) -> None:
    """The runtime finds nodes, each with a type and a handle of its own; with them the work leaves the graph.

    How many nodes an operator makes is open, and so is whether several make one.
    """
    counters = [Counter(impl) for _ in range(operators)]

    def body() -> None:
        for counter in counters:
            counter.body()

    graph, _ = captured(impl, body, keep_graph=True)
    template = Template(impl, graph)
    nodes = template.nodes()
    promise = "the template holds the captured work as nodes"
    expect(bool(nodes), promise, f"no node for {operators} captured operators")
    expect(len({int(node) for node in nodes}) == len(nodes), "each node has a handle of its own", f"{nodes}")
    for node in nodes:
        runtime_call(impl, "cudaGraphNodeGetType", node)
    template.remove_all()
    graph.instantiate()
    replay(impl, graph, 2)
    for counter in counters:
        counter.expect_runs(0, promise)


@requirement("raw-handles.empty-template")
def test_template_of_an_empty_capture_has_no_nodes(impl: Adapter) -> None:
    """A capture without work leaves a template without nodes."""
    graph = impl.new_graph(True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an empty capture may warn
        capture_into(impl, graph, lambda: None)
    nodes = Template(impl, graph).nodes()
    expect(
        not nodes, "the template holds the captured work and nothing else", f"{len(nodes)} nodes of an empty capture"
    )


@requirement("raw-handles.template-has-captured-order")
def test_template_orders_work_of_one_stream(impl: Adapter) -> None:
    """Work captured on one stream is ordered by the template's edges: of any two nodes one comes first."""
    x = impl.full(37, 1.0)

    def body() -> None:
        x.add_(1)
        x.mul_(2)
        x.sub_(3)

    graph, _ = captured(impl, body, keep_graph=True)
    template = Template(impl, graph)
    numbers = sorted(int(node) for node in template.nodes())
    order = template.ordered_pairs()
    loose = [pair for pair in itertools.combinations(numbers, 2) if pair not in order and pair[::-1] not in order]
    expect(
        not loose and not any((number, number) in order for number in numbers),
        "operations of one stream depend on each other in the order in which they were captured",
        f"{len(loose)} pairs of nodes without an order (or a cycle) among {len(numbers)} nodes",
    )


@requirement("raw-handles.template-usable-by-runtime")
def test_runtime_instantiates_the_template(impl: Adapter) -> None:
    """An executable that the user makes of the template with the runtime runs the captured work."""
    x = impl.full((3, 5), 0.0)
    graph, out = captured(impl, lambda: x * 2 + 1, keep_graph=True)
    template = Template(impl, graph)
    (executable,) = runtime_call(impl, "cudaGraphInstantiate", template.handle, 0)
    try:
        for value in (4.0, -2.0, 7.0):
            x.fill_(value)
            out.fill_(99.0)
            launch(impl, int(executable))
            expect_equal(impl, out, value * 2 + 1, "the template's handle gives the runtime the captured work")
    finally:
        runtime_call(impl, "cudaGraphExecDestroy", executable)
    out.fill_(99.0)
    replay(impl, graph)
    expect_equal(impl, out, 15.0, "what the user makes of the template leaves the graph's own replay alone")


@requirement("raw-handles.exec-launchable")
@pytest.mark.parametrize("keep_graph", [False, True], ids=["not-kept", "kept"])
def test_runtime_launches_the_executable(impl: Adapter, *, keep_graph: bool) -> None:
    """A launch through the runtime does what a replay does, and both may alternate."""
    x = impl.full(37, 0.0)
    graph, out = captured(impl, lambda: x - 6, keep_graph=keep_graph)
    if keep_graph:
        graph.instantiate()
    executable = impl.raw_exec(graph)
    for turn in range(6):
        data = torch.arange(37, dtype=torch.float32) * (turn + 1)
        x.copy_(impl.tensor(data))
        out.fill_(99.0)
        if turn % 2:
            replay(impl, graph)
        else:
            launch(impl, executable)
        expect_equal(impl, out, data - 6, "the executable's handle launches the captured work through the runtime")


@requirement("raw-handles.exec-launchable")
def test_runtime_launches_a_lazily_made_executable(impl: Adapter) -> None:
    """The executable that the first replay made can be launched through the runtime."""
    counter = Counter(impl)
    graph, _ = captured(impl, counter.body, keep_graph=True)
    replay(impl, graph)
    for _ in range(3):
        launch(impl, impl.raw_exec(graph))
    counter.expect_runs(4, "each launch of the executable's handle runs the captured work once")


@requirement("raw-handles.exec-launchable")
def test_runtime_launches_the_newest_executable(impl: Adapter) -> None:
    """After each further instantiate() the handle that is asked for then launches the work."""
    counter = Counter(impl)
    graph, _ = captured(impl, counter.body, keep_graph=True)
    for turn in range(1, 4):
        graph.instantiate()
        launch(impl, impl.raw_exec(graph))
        counter.expect_runs(turn, "the handle that follows an instantiate() launches the captured work")


@requirement("raw-handles.handles-follow-recapture")
def test_handles_name_the_new_capture(impl: Adapter) -> None:
    """After reset and a new capture both handles lead to the new work, not to the old."""
    old, new = Counter(impl, step=1.0), Counter(impl, step=5.0)

    def three_times() -> None:
        for _ in range(3):
            old.body()

    graph, _ = captured(impl, three_times, keep_graph=True)
    with Editor(impl, graph).executable() as executable:
        launch(impl, executable)
    old.expect_runs(3, "the template's handle leads to the capture")
    graph.reset()
    capture_into(impl, graph, new.body)
    with Editor(impl, graph).executable() as executable:
        launch(impl, executable)
    old.expect_runs(3, "the template's handle leads to the new capture")
    new.expect_runs(1, "the template's handle leads to the new capture")
    graph.instantiate()
    for _ in range(2):
        launch(impl, impl.raw_exec(graph))
    old.expect_runs(3, "the executable's handle leads to the new capture")
    new.expect_runs(3, "the executable's handle leads to the new capture")
