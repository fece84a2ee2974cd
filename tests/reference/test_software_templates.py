"""Templates: nodes, edges, editing, clones and child graphs."""

from __future__ import annotations

from typing import Any

import pytest

import reference_impl.runtime as rt

from .software_kit import (
    E,
    Work,
    capturing,
    code,
    edges,
    empty,
    event,
    instantiate,
    launch,
    memset,
    memset_params,
    nodes,
    ok,
    stream,
)


def template() -> Any:
    return ok(rt.cudaGraphCreate(0))


def change(call: Any, graph: Any, *pairs: tuple[Any, Any]) -> Any:
    return code(call(graph, [a for a, _ in pairs], [b for _, b in pairs], None, len(pairs)))


def test_nodes_and_edges_come_in_order_of_creation() -> None:
    graph = template()
    chain = [empty(graph)]
    chain.append(empty(graph, chain[0]))
    chain.append(empty(graph, chain[1], chain[0]))
    assert nodes(graph) == [int(node) for node in chain]
    assert edges(graph) == [(0, 1), (0, 2), (1, 2)]
    assert [int(each) for each in ok(rt.cudaGraphNodeGetDependencies(chain[2], 2))[0]] == [int(chain[1]), int(chain[0])]
    assert [int(each) for each in ok(rt.cudaGraphNodeGetDependentNodes(chain[0], 2))[0]] == [
        int(chain[1]),
        int(chain[2]),
    ]
    assert [int(each) for each in ok(rt.cudaGraphGetRootNodes(graph, 1))[0]] == [int(chain[0])]
    assert [ok(rt.cudaGraphNodeGetLocalId(node)) for node in chain] == [0, 1, 2]
    assert ok(rt.cudaGraphNodeGetContainingGraph(chain[0])) == graph
    identity = ok(rt.cudaGraphGetId(graph))
    assert ok(rt.cudaGraphNodeGetToolsId(chain[2])) == identity << 32 | 2


def test_lists_are_counted_cut_and_filled() -> None:
    graph = template()
    first = empty(graph)
    empty(graph, first)
    assert rt.cudaGraphGetNodes(graph) == (E.cudaSuccess, [], 2)
    assert rt.cudaGraphGetNodes(graph, 1) == (E.cudaSuccess, [first], 1)
    handles, number = ok(rt.cudaGraphGetNodes(graph, 4))
    assert number == 2
    assert [int(each) for each in handles[2:]] == [0, 0]
    starts, ends, data, number = ok(rt.cudaGraphGetEdges(graph, 3))
    assert (len(starts), len(ends), len(data), number) == (3, 3, 3, 1)


def test_refused_edges() -> None:
    graph, other = template(), template()
    a, b, foreign = empty(graph), empty(graph), empty(other)
    add, remove = rt.cudaGraphAddDependencies, rt.cudaGraphRemoveDependencies
    for pair in ((a, a), (a, foreign), (foreign, a), (a, 0)):
        assert change(add, graph, pair) == E.cudaErrorInvalidValue
    assert change(remove, graph, (a, b)) == E.cudaErrorInvalidValue
    assert change(add, graph, (a, b), (a, b)) == E.cudaErrorInvalidValue
    assert edges(graph) == [(0, 1)], "what comes before the refused edge stays"
    assert change(add, graph, (a, b)) == E.cudaErrorInvalidValue
    assert change(remove, graph, (a, b), (b, a)) == E.cudaErrorInvalidValue
    assert edges(graph) == []
    assert code(rt.cudaGraphAddDependencies(graph, [a], [b], None, 2)) == E.cudaErrorInvalidValue
    data = rt.cudaGraphEdgeData()
    data.from_port = 1
    assert code(rt.cudaGraphAddDependencies(graph, [a], [b], [data], 1)) == E.cudaErrorNotSupported


def test_cycle_is_refused_at_instantiation() -> None:
    graph = template()
    a = empty(graph)
    b = empty(graph, a)
    assert change(rt.cudaGraphAddDependencies, graph, (b, a)) == E.cudaSuccess
    assert rt.cudaGraphInstantiate(graph, 0) == (E.cudaErrorInvalidValue, None)
    assert change(rt.cudaGraphRemoveDependencies, graph, (b, a)) == E.cudaSuccess
    instantiate(graph)


def test_refused_nodes_leave_the_template_as_it_was() -> None:
    graph, other = template(), template()
    a, foreign = empty(graph), empty(other)
    for waits in ([foreign], [a, a], [0], [rt.cudaGraphNode_t(init_value=0)]):
        assert rt.cudaGraphAddEmptyNode(graph, waits, len(waits)) == (E.cudaErrorInvalidValue, None)
    assert code(rt.cudaGraphAddEmptyNode(graph, [a], 2)) == E.cudaErrorInvalidValue
    assert rt.cudaGraphAddHostNode(graph, None, 0, rt.cudaHostNodeParams()) == (E.cudaErrorInvalidValue, None)
    assert rt.cudaGraphAddEventRecordNode(graph, None, 0, 0) == (E.cudaErrorInvalidValue, None)
    assert rt.cudaGraphAddChildGraphNode(graph, None, 0, graph) == (E.cudaErrorInvalidValue, None)
    graphs = rt.live_counts()["graphs"]
    assert rt.cudaGraphAddChildGraphNode(graph, [foreign], 1, other) == (E.cudaErrorInvalidValue, None)
    assert rt.live_counts()["graphs"] == graphs
    assert nodes(graph) == [int(a)]


def test_destroying_a_node_takes_its_edges() -> None:
    graph = template()
    a = empty(graph)
    b = empty(graph, a)
    c = empty(graph, a, b)
    ok(rt.cudaGraphDestroyNode(b))
    assert nodes(graph) == [int(a), int(c)]
    assert edges(graph) == [(0, 1)]
    assert code(rt.cudaGraphNodeGetType(b)) == E.cudaErrorInvalidValue
    assert ok(rt.cudaGraphNodeGetLocalId(empty(graph))) == 3, "local ids are not used again"


def test_clone_is_independent() -> None:
    graph = template()
    a = empty(graph)
    b = empty(graph, a)
    clone = ok(rt.cudaGraphClone(graph))
    twin = ok(rt.cudaGraphNodeFindInClone(b, clone))
    assert int(twin) == nodes(clone)[1]
    assert edges(clone) == [(0, 1)]
    second = ok(rt.cudaGraphClone(clone))
    assert code(rt.cudaGraphNodeFindInClone(b, second)) == E.cudaErrorInvalidValue
    assert int(ok(rt.cudaGraphNodeFindInClone(twin, second))) == nodes(second)[1]
    assert code(rt.cudaGraphNodeFindInClone(b, graph)) == E.cudaErrorInvalidValue
    ok(rt.cudaGraphDestroy(graph))
    empty(clone, twin)
    assert edges(clone) == [(0, 1), (1, 2)]
    assert edges(second) == [(0, 1)]


def test_child_graph_is_a_copy() -> None:
    graph, child = template(), template()
    inner = empty(child)
    node = ok(rt.cudaGraphAddChildGraphNode(graph, None, 0, child))
    inside = ok(rt.cudaGraphChildGraphNodeGetGraph(node))
    assert nodes(inside) == [int(ok(rt.cudaGraphNodeFindInClone(inner, inside)))]
    empty(child)
    assert len(nodes(inside)) == 1
    empty(inside)
    empty(inside)
    assert (len(nodes(child)), len(nodes(inside))) == (2, 3)
    assert code(rt.cudaGraphDestroy(inside)) == E.cudaErrorInvalidValue
    ok(rt.cudaGraphDestroyNode(node))
    assert code(rt.cudaGraphGetNodes(inside)) == E.cudaErrorInvalidValue
    assert code(rt.cudaGraphChildGraphNodeGetGraph(inner)) == E.cudaErrorInvalidValue


def test_parameters_of_every_type() -> None:
    address, graph, mark = ok(rt.cudaMalloc(4096)), template(), event()
    fill = memset(graph, memset_params(address, 7, 4, height=3, elementSize=4, pitch=64))
    params = ok(rt.cudaGraphMemsetNodeGetParams(fill))
    assert (params.dst, params.value, params.width) == (address, 7, 4)
    assert (params.height, params.elementSize, params.pitch) == (3, 4, 64)
    ok(rt.cudaGraphMemsetNodeSetParams(fill, memset_params(address, 9)))
    assert ok(rt.cudaGraphMemsetNodeGetParams(fill)).value == 9
    kind = rt.cudaMemcpyKind.cudaMemcpyDefault
    copy = ok(rt.cudaGraphAddMemcpyNode1D(graph, None, 0, address, address + 64, 16, kind))
    actual = ok(rt.cudaGraphMemcpyNodeGetParams(copy))
    assert (actual.dstPtr.ptr, actual.srcPtr.ptr, actual.extent.width, actual.kind) == (address, address + 64, 16, kind)
    ok(rt.cudaGraphMemcpyNodeSetParams1D(copy, address, address + 128, 32, kind))
    assert ok(rt.cudaGraphMemcpyNodeGetParams(copy)).extent.width == 32
    ok(rt.cudaGraphMemcpyNodeSetParams(copy, actual))
    assert ok(rt.cudaGraphMemcpyNodeGetParams(copy)).extent.width == 16
    record = ok(rt.cudaGraphAddEventRecordNode(graph, None, 0, mark))
    wait = ok(rt.cudaGraphAddEventWaitNode(graph, None, 0, mark))
    other = event()
    ok(rt.cudaGraphEventRecordNodeSetEvent(record, other))
    ok(rt.cudaGraphEventWaitNodeSetEvent(wait, other))
    assert ok(rt.cudaGraphEventRecordNodeGetEvent(record)) == other
    assert ok(rt.cudaGraphEventWaitNodeGetEvent(wait)) == other
    getters = {
        fill: rt.cudaGraphMemsetNodeGetParams,
        copy: rt.cudaGraphMemcpyNodeGetParams,
        record: rt.cudaGraphEventRecordNodeGetEvent,
        wait: rt.cudaGraphEventWaitNodeGetEvent,
    }
    for node in getters:
        for owner, getter in getters.items():
            expected = E.cudaSuccess if owner == node else E.cudaErrorInvalidValue
            assert code(getter(node)) == expected


def test_kernel_nodes_can_be_added_by_the_function_of_another() -> None:
    s, log = stream(), []
    with capturing(s) as templates:
        launch(s, log, "a")
        launch(s, log, "b")
    first, second = nodes(templates[0])
    params = ok(rt.cudaGraphKernelNodeGetParams(first))
    ok(rt.cudaGraphAddKernelNode(templates[0], [second], 1, params))
    ok(rt.cudaGraphKernelNodeSetParams(second, params))
    ok(rt.cudaGraphLaunch(instantiate(templates[0]), s))
    assert log == ["a", "a", "a"]
    params.func = 0x1234
    answer = rt.cudaGraphAddKernelNode(templates[0], None, 0, params)
    assert answer == (E.cudaErrorInvalidDeviceFunction, None)


def test_destroyed_template_keeps_no_kernel_alive() -> None:
    import weakref

    s, mark = stream(), event()
    kernel = Work(lambda: None)
    died = weakref.ref(kernel)
    with capturing(s) as templates:
        ok(rt.launchKernel(kernel, s))
        ok(rt.cudaEventRecord(mark, s))
    executable = instantiate(templates[0])
    del kernel
    ok(rt.cudaGraphDestroy(templates[0]))
    assert died() is not None
    ok(rt.cudaGraphExecDestroy(executable))
    assert died() is None


@pytest.mark.parametrize("flags", [1, 2])
def test_template_flags_are_refused(flags: int) -> None:
    assert rt.cudaGraphCreate(flags) == (E.cudaErrorInvalidValue, None)
