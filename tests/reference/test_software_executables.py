"""Executables: frozen copies, launched in orders that the edges allow, changed through their own calls."""

from __future__ import annotations

import ctypes
import itertools
import threading
import time
from typing import Any

import pytest

import reference_impl.runtime as rt

from .software_kit import (
    E,
    Work,
    after,
    capturing,
    code,
    edges,
    empty,
    event,
    in_thread,
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


def forked(log: list[Any], width: int = 4, depth: int = 3) -> Any:
    """A template of `width` independent chains between a first and a last node."""
    main = stream()
    sides = [stream() for _ in range(width)]
    with capturing(main) as templates:
        launch(main, log, "first")
        for index, side in enumerate(sides):
            after(main, side)
            for step in range(depth):
                launch(side, log, (index, step))
        for side in sides:
            after(side, main)
        launch(main, log, "last")
    return templates[0]


def test_every_launch_keeps_the_edges_in_another_order() -> None:
    log: list[Any] = []
    rt.seed(1)
    graph = forked(log)
    executable = instantiate(graph)
    runs = []
    for _ in range(8):
        log.clear()
        ok(rt.cudaGraphLaunch(executable, 0))
        runs.append(tuple(log))
    for run in runs:
        assert run[0] == "first"
        assert run[-1] == "last"
        assert len(run) == len(set(run)) == 14
        for index in range(4):
            assert [entry for entry in run if entry[0] == index] == [(index, step) for step in range(3)]
    assert all(one != two for one, two in itertools.pairwise(runs))
    assert len(set(runs)) == 8


def test_missing_edge_shows_within_a_few_launches() -> None:
    s, log = stream(), []
    with capturing(s) as templates:
        launch(s, log, "a")
        launch(s, log, "b")
    a, b = nodes(templates[0])
    ok(rt.cudaGraphRemoveDependencies(templates[0], [a], [b], None, 1))
    executable = instantiate(templates[0])
    for _ in range(2):
        ok(rt.cudaGraphLaunch(executable, s))
    assert sorted((tuple(log[:2]), tuple(log[2:]))) == [("a", "b"), ("b", "a")]


def test_orders_follow_the_seed() -> None:
    log: list[Any] = []
    graph = forked(log)

    def runs() -> list[Any]:
        log.clear()
        rt.seed(5)
        executable = instantiate(graph)
        for _ in range(3):
            ok(rt.cudaGraphLaunch(executable, 0))
        return list(log)

    assert runs() == runs()


def test_serial_nodes_keep_their_order() -> None:
    main, side, log = stream(), stream(), []
    with capturing(main) as templates:
        after(main, side)
        for entry in range(6):
            launch(side if entry % 2 else main, log, entry, serial="generator")
            launch(side if entry % 2 else main, log, str(entry))
        after(side, main)
    executable = instantiate(templates[0])
    for _ in range(8):
        log.clear()
        ok(rt.cudaGraphLaunch(executable, 0))
        assert [entry for entry in log if isinstance(entry, int)] == list(range(6))


def test_executable_is_a_frozen_copy() -> None:
    s, log = stream(), []
    with capturing(s) as templates:
        launch(s, log, "a")
        launch(s, log, "b")
    executable = instantiate(templates[0])
    a, b = nodes(templates[0])
    ok(rt.cudaGraphDestroyNode(b))
    ok(rt.cudaGraphLaunch(executable, s))
    assert log == ["a", "b"]
    ok(rt.cudaGraphDestroy(templates[0]))
    ok(rt.cudaGraphLaunch(executable, s))
    assert log == ["a", "b"] * 2
    assert code(rt.cudaGraphNodeGetType(a)) == E.cudaErrorInvalidValue


def test_child_graphs_run_in_place() -> None:
    s, log = stream(), []
    with capturing(s) as inner:
        launch(s, log, "inner")
    with capturing(s) as outer:
        launch(s, log, "before")
        launch(s, log, "behind")
    before, behind = nodes(outer[0])
    child = ok(rt.cudaGraphAddChildGraphNode(outer[0], [before], 1, inner[0]))
    ok(rt.cudaGraphAddDependencies(outer[0], [child], [behind], None, 1))
    hollow = ok(rt.cudaGraphAddChildGraphNode(outer[0], [behind], 1, template()))
    empty(outer[0], hollow)
    ok(rt.cudaGraphDestroy(inner[0]))
    executable = instantiate(outer[0])
    for _ in range(3):
        ok(rt.cudaGraphLaunch(executable, s))
    assert log == ["before", "inner", "behind"] * 3


class Block:
    """External memory that says when it is held."""

    def __init__(self) -> None:
        self.acquired = 0
        self.holds = 0

    def acquire(self) -> object:
        self.acquired += 1
        self.holds += 1
        return Hold(self)


class Hold:
    def __init__(self, block: Block) -> None:
        self.block = block

    def __del__(self) -> None:
        self.block.holds -= 1


def test_memory_is_acquired_once_a_launch_and_held_during_it() -> None:
    s, block, counts = stream(), Block(), []
    with capturing(s) as templates:
        for _ in range(3):
            ok(rt.launchKernel(Work(lambda: counts.append(block.holds), memory=[block]), s))
    assert block.acquired == 0
    executable = instantiate(templates[0])
    for launches in (1, 2):
        ok(rt.cudaGraphLaunch(executable, s))
        assert (block.acquired, block.holds) == (launches, 0)
    assert counts == [1] * 6


def test_raising_kernel_fails_the_launch_and_nothing_else() -> None:
    s, log = stream(), []
    failure = ValueError("broken")

    def fail() -> None:
        if not log:
            raise failure

    with capturing(s) as templates:
        ok(rt.launchKernel(Work(fail), s))
        launch(s, log, "behind")
    executable = instantiate(templates[0])
    assert code(rt.cudaGraphLaunch(executable, s)) == E.cudaErrorLaunchFailure
    assert rt.last_failure() is failure
    assert log == []
    assert code(rt.launchKernel(Work(fail), s)) == E.cudaErrorLaunchFailure
    log.append("repaired")
    ok(rt.cudaGraphLaunch(executable, s))
    ok(rt.cudaStreamSynchronize(s))
    assert log == ["repaired", "behind"]


def test_disabled_node_still_orders_the_others() -> None:
    s, log = stream(), []
    with capturing(s) as templates:
        for entry in range(3):
            launch(s, log, entry)
    executable = instantiate(templates[0])
    middle = nodes(templates[0])[1]
    assert ok(rt.cudaGraphNodeGetEnabled(executable, middle)) == 1
    ok(rt.cudaGraphNodeSetEnabled(executable, middle, 0))
    assert ok(rt.cudaGraphNodeGetEnabled(executable, middle)) == 0
    for _ in range(2):
        ok(rt.cudaGraphLaunch(executable, s))
    assert log == [0, 2] * 2
    ok(rt.cudaGraphNodeSetEnabled(executable, middle, 1))
    log.clear()
    ok(rt.cudaGraphLaunch(executable, s))
    assert log == [0, 1, 2]
    assert len(nodes(templates[0])) == 3
    only = empty(template())
    assert code(rt.cudaGraphNodeSetEnabled(executable, only, 0)) == E.cudaErrorInvalidValue


def test_parameters_of_an_executable() -> None:
    address, graph = ok(rt.cudaMalloc(256)), template()
    node, other = memset(graph, memset_params(address)), empty(graph)
    executable = instantiate(graph)
    change = rt.cudaGraphExecMemsetNodeSetParams
    ok(change(executable, node, memset_params(address, 9, 32)))
    assert code(change(executable, node, memset_params(address, 9, 4, height=2, pitch=64))) == E.cudaErrorInvalidValue
    assert code(change(executable, other, memset_params(address))) == E.cudaErrorInvalidValue
    foreign = memset(template(), memset_params(address))
    assert code(change(executable, foreign, memset_params(address))) == E.cudaErrorInvalidValue
    ok(rt.cudaGraphLaunch(executable, 0))
    assert ctypes.string_at(address, 33) == b"\x09" * 32 + b"\xff"
    assert ok(rt.cudaGraphMemsetNodeGetParams(node)).value == 1, "the template keeps its own"


def test_update_takes_parameters_of_the_same_shape() -> None:
    address = ok(rt.cudaMalloc(256))

    def make(change: str = "") -> Any:
        graph = template()
        node = memset(graph, memset_params(address, 5 if change else 1))
        if change == "type":
            empty(graph, node)
        elif change != "less":
            memset(graph, memset_params(address + 64), *([] if change == "edge" else [node]))
        if change == "more":
            empty(graph)
        return graph

    graph = make()
    executable = instantiate(graph)
    ok(rt.cudaGraphExecUpdate(executable, make("value")))
    ok(rt.cudaGraphLaunch(executable, 0))
    assert ctypes.string_at(address, 1) == b"\x05"
    ok(rt.cudaGraphExecMemsetNodeSetParams(executable, nodes(graph)[0], memset_params(address, 6)))
    for change in ("type", "less", "more", "edge"):
        assert rt.cudaGraphExecUpdate(executable, make(change)) == (E.cudaErrorGraphExecUpdateFailure, None)
    ok(rt.cudaGraphLaunch(executable, 0))
    assert ctypes.string_at(address, 1) == b"\x06", "a refused update changes nothing"


def test_child_graph_parameters() -> None:
    address, graph, child = ok(rt.cudaMalloc(256)), template(), template()
    memset(child, memset_params(address, 1))
    node = ok(rt.cudaGraphAddChildGraphNode(graph, None, 0, child))
    executable = instantiate(graph)
    other = template()
    memset(other, memset_params(address, 2))
    ok(rt.cudaGraphExecChildGraphNodeSetParams(executable, node, other))
    ok(rt.cudaGraphLaunch(executable, 0))
    assert ctypes.string_at(address, 1) == b"\x02"
    empty(other)
    answer = rt.cudaGraphExecChildGraphNodeSetParams(executable, node, other)
    assert code(answer) == E.cudaErrorGraphExecUpdateFailure
    inner = nodes(ok(rt.cudaGraphChildGraphNodeGetGraph(node)))[0]
    ok(rt.cudaGraphExecMemsetNodeSetParams(executable, inner, memset_params(address, 3)))
    ok(rt.cudaGraphLaunch(executable, 0))
    assert ctypes.string_at(address, 1) == b"\x03"


def test_kernel_of_an_executable_can_be_exchanged() -> None:
    s, log = stream(), []
    with capturing(s) as templates:
        launch(s, log, "a")
        launch(s, log, "b")
    first, second = nodes(templates[0])
    executable = instantiate(templates[0])
    params = ok(rt.cudaGraphKernelNodeGetParams(first))
    ok(rt.cudaGraphExecKernelNodeSetParams(executable, second, params))
    ok(rt.cudaGraphLaunch(executable, s))
    assert log == ["a", "a"]
    assert edges(templates[0]) == [(0, 1)]


def test_event_nodes_record_and_wait() -> None:
    mark, graph = event(), template()
    ok(rt.cudaGraphAddEventRecordNode(graph, None, 0, mark))
    executable = instantiate(graph)
    s = stream()
    ok(rt.cudaStreamBeginCapture(s, rt.cudaStreamCaptureMode.cudaStreamCaptureModeRelaxed))
    ok(rt.cudaEventRecord(mark, s))
    ok(rt.cudaGraphLaunch(executable, 0))
    ok(rt.cudaEventQuery(mark))
    ok(rt.cudaStreamEndCapture(s))


def test_host_functions_run() -> None:
    values: list[int] = []
    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda data: values.append(data or 0))
    params = rt.cudaHostNodeParams()
    params.fn = rt.cudaHostFn_t(init_value=ctypes.cast(callback, ctypes.c_void_p).value)
    params.userData = 77
    graph, s = template(), stream()
    node = ok(rt.cudaGraphAddHostNode(graph, None, 0, params))
    assert int(ok(rt.cudaGraphHostNodeGetParams(node)).fn) == int(params.fn)
    executable = instantiate(graph)
    ok(rt.cudaGraphLaunch(executable, 0))
    params.userData = 78
    ok(rt.cudaGraphHostNodeSetParams(node, params))
    ok(rt.cudaGraphExecHostNodeSetParams(executable, node, params))
    ok(rt.cudaGraphLaunch(executable, 0))
    ok(rt.cudaLaunchHostFunc(s, params.fn, 79))
    assert values == [77, 78, 79]
    assert code(rt.cudaLaunchHostFunc(s, 0, 0)) == E.cudaErrorInvalidValue


@pytest.mark.parametrize(("flags", "expected"), [(0, 0), (1, 1), (8, 8), (9, 9), (2, None), (1024, None)])
def test_instantiation_flags(flags: int, expected: int | None) -> None:
    answer = rt.cudaGraphInstantiate(template(), flags)
    if expected is None:
        assert answer == (E.cudaErrorInvalidValue, None)
    else:
        assert ok(rt.cudaGraphExecGetFlags(ok(answer))) == expected
        assert ok(rt.cudaGraphExecGetId(answer[1])) > 0
    params = rt.cudaGraphInstantiateParams()
    params.flags = flags & 9
    ok(rt.cudaGraphInstantiateWithParams(template(), params))


def test_launches_of_one_executable_take_turns() -> None:
    s, running, most = stream(), [], []

    def work() -> None:
        running.append(threading.get_ident())
        most.append(len(set(running)))
        time.sleep(0.005)
        running.remove(threading.get_ident())

    with capturing(s) as templates:
        ok(rt.launchKernel(Work(work), s))
    executable = instantiate(templates[0])
    threads = [threading.Thread(target=lambda: ok(rt.cudaGraphLaunch(executable, stream()))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 4
    assert in_thread(lambda: code(rt.cudaGraphLaunch(executable, 0))) == E.cudaSuccess


def test_launch_costs_little_more_than_its_kernels() -> None:
    def nothing() -> None:
        pass

    class Bare:
        name, memory, serial = "bare", (), None
        run = staticmethod(nothing)

    s, number = stream(), 1000
    with capturing(s) as templates:
        for _ in range(number):
            ok(rt.launchKernel(Bare(), s))
    executable = instantiate(templates[0])
    calls = [nothing] * number

    def direct() -> float:
        start = time.perf_counter()
        for call in calls:
            call()
        return time.perf_counter() - start

    def replay() -> float:
        start = time.perf_counter()
        rt.cudaGraphLaunch(executable, s)
        return time.perf_counter() - start

    overhead = min(replay() for _ in range(30)) - min(direct() for _ in range(30))
    assert overhead / number < 0.2e-6, f"{overhead / number * 1e6:.3f} us a node"
