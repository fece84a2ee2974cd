"""Deferred work runs late and interleaved, and always as streams, events and edges say."""

from __future__ import annotations

import ctypes
from itertools import pairwise
from typing import Any

import pytest

import reference_impl.runtime as rt

from .software_kit import E, Work, after, capturing, code, event, instantiate, launch, memset, memset_params, ok, stream

SEEDS = range(12)


def test_nothing_runs_before_it_must() -> None:
    s, log = stream(), []
    with rt.deferred():
        for entry in range(5):
            launch(s, log, entry)
        assert log == []
        ok(rt.cudaStreamSynchronize(s))
        assert log == list(range(5))
        launch(s, log, 5)
        assert log == list(range(5))
    assert log == list(range(6))


@pytest.mark.parametrize("seed", SEEDS)
def test_each_stream_keeps_its_order(seed: int) -> None:
    streams, log = [stream() for _ in range(3)], []
    with rt.deferred(seed):
        for entry in range(5):
            for index, s in enumerate(streams):
                launch(s, log, (index, entry))
        ok(rt.cudaStreamSynchronize(streams[1]))
        assert [entry for entry in log if entry[0] == 1] == [(1, entry) for entry in range(5)]
        ok(rt.cudaDeviceSynchronize())
    assert len(log) == 15
    for index in range(3):
        assert [entry for entry in log if entry[0] == index] == [(index, entry) for entry in range(5)]


def test_missing_synchronisation_shows() -> None:
    orders: set[tuple[Any, ...]] = set()
    for seed in range(30):
        first, second, log = stream(), stream(), []
        with rt.deferred(seed):
            launch(first, log, "written")
            launch(second, log, "read")
        orders.add(tuple(log))
    assert orders == {("written", "read"), ("read", "written")}


def test_synchronising_runs_a_varying_amount_of_other_work() -> None:
    amounts = set()
    for seed in range(40):
        first, second, log = stream(), stream(), []
        with rt.deferred(seed):
            for _ in range(3):
                launch(first, log, "needed")
                launch(second, log, "other")
            ok(rt.cudaStreamSynchronize(first))
            assert log.count("needed") == 3
            amounts.add(log.count("other"))
    assert len(amounts) > 2


@pytest.mark.parametrize("seed", SEEDS)
def test_waits_take_the_latest_record_at_that_time(seed: int) -> None:
    first, second, mark, log = stream(), stream(), event(), []
    with rt.deferred(seed):
        launch(first, log, "early")
        ok(rt.cudaEventRecord(mark, first))
        ok(rt.cudaStreamWaitEvent(second, mark, 0))
        launch(second, log, "behind early")
        launch(first, log, "late")
        ok(rt.cudaEventRecord(mark, first))
        ok(rt.cudaStreamSynchronize(second))
        assert log.index("early") < log.index("behind early")
        ok(rt.cudaEventSynchronize(mark))
        assert "late" in log


def test_rerecorded_event_does_not_hold_back_earlier_waits() -> None:
    late_first = False
    for seed in range(20):
        first, second, mark, log = stream(), stream(), event(), []
        with rt.deferred(seed):
            ok(rt.cudaEventRecord(mark, first))
            ok(rt.cudaStreamWaitEvent(second, mark, 0))
            launch(first, log, "late")
            ok(rt.cudaEventRecord(mark, first))
            launch(second, log, "free")
            ok(rt.cudaStreamSynchronize(second))
            late_first |= "late" not in log
    assert late_first


def test_queries_report_and_make_progress() -> None:
    s, mark, log = stream(), event(), []
    with rt.deferred(1):
        for entry in range(10):
            launch(s, log, entry)
        ok(rt.cudaEventRecord(mark, s))
        assert code(rt.cudaStreamQuery(s)) == E.cudaErrorNotReady
        assert code(rt.cudaEventQuery(mark)) == E.cudaErrorNotReady
        queries = 0
        while code(rt.cudaEventQuery(mark)) == E.cudaErrorNotReady:
            queries += 1
        assert 0 < queries < 10
        assert log == list(range(10))
        ok(rt.cudaStreamQuery(s))
        ok(rt.cudaEventQuery(event()))


@pytest.mark.parametrize("seed", SEEDS)
def test_legacy_stream_waits_for_blocking_streams_and_they_for_it(seed: int) -> None:
    blocking, apart, log = stream(blocking=True), stream(), []
    with rt.deferred(seed):
        launch(blocking, log, 0)
        launch(apart, log, "apart")
        launch(0, log, 1)
        launch(rt.cudaStreamPerThread, log, 2)
        launch(blocking, log, 2)
        launch(rt.cudaStreamLegacy, log, 3)
        ok(rt.cudaStreamSynchronize(0))
        numbers = [entry for entry in log if entry != "apart"]
        assert numbers == [0, 1, 2, 2, 3]
    assert "apart" in log


def forked() -> tuple[Any, list[Any]]:
    main, side, log = stream(), stream(), []
    with capturing(main) as templates:
        launch(main, log, 0)
        after(main, side)
        launch(side, log, "a")
        launch(side, log, "b")
        launch(main, log, 1)
        after(side, main)
        launch(main, log, 2)
    return instantiate(templates[0]), log


@pytest.mark.parametrize("seed", SEEDS)
def test_graph_launch_is_ordered_in_its_stream_and_in_itself(seed: int) -> None:
    executable, log = forked()
    s = stream()
    with rt.deferred(seed):
        launch(s, log, "before")
        ok(rt.cudaGraphLaunch(executable, s))
        launch(s, log, "behind")
        assert log == []
        ok(rt.cudaStreamSynchronize(s))
    assert log[0] == "before"
    assert log[-1] == "behind"
    assert [entry for entry in log if isinstance(entry, int)] == [0, 1, 2]
    assert [entry for entry in log if entry in ("a", "b")] == ["a", "b"]
    assert log.index(0) < log.index("a") < log.index("b") < log.index(2)


def test_graph_launches_interleave_with_other_streams() -> None:
    between = False
    for seed in range(20):
        executable, log = forked()
        s, other = stream(), stream()
        with rt.deferred(seed):
            ok(rt.cudaGraphLaunch(executable, s))
            launch(other, log, "other")
        between |= log.index(0) < log.index("other") < log.index(2)
    assert between


@pytest.mark.parametrize("seed", SEEDS)
def test_launches_of_one_executable_take_turns(seed: int) -> None:
    executable, log = forked()
    with rt.deferred(seed):
        for _ in range(3):
            ok(rt.cudaGraphLaunch(executable, stream()))
    assert len(log) == 15
    for start in (0, 5, 10):
        assert (log[start], log[start + 4]) == (0, 2)


@pytest.mark.parametrize("seed", SEEDS)
def test_serial_work_keeps_its_order_across_streams_and_launches(seed: int) -> None:
    main, side, log = stream(), stream(), []
    with capturing(main) as templates:
        launch(main, log, 1, serial="generator")
    executable = instantiate(templates[0])
    with rt.deferred(seed):
        launch(side, log, 0, serial="generator")
        ok(rt.cudaGraphLaunch(executable, main))
        launch(side, log, 2, serial="generator")
    assert log == [0, 1, 2]


def test_event_nodes_of_a_graph_order_other_streams() -> None:
    for seed in SEEDS:
        s, other, mark, log = stream(), stream(), event(), []
        with capturing(s) as templates:
            launch(s, log, "inside")
            ok(rt.cudaEventRecordWithFlags(mark, s, rt.cudaEventRecordExternal))
        executable = instantiate(templates[0])
        with rt.deferred(seed):
            ok(rt.cudaGraphLaunch(executable, s))
            ok(rt.cudaStreamWaitEvent(other, mark, 0))
            launch(other, log, "behind")
        assert log == ["inside", "behind"]
        with capturing(s) as templates:
            ok(rt.cudaStreamWaitEvent(s, mark, rt.cudaEventWaitExternal))
            launch(s, log, "waited")
        executable = instantiate(templates[0])
        log.clear()
        with rt.deferred(seed):
            launch(other, log, "first")
            ok(rt.cudaEventRecord(mark, other))
            ok(rt.cudaGraphLaunch(executable, s))
        assert log == ["first", "waited"]


def test_memory_is_held_until_the_launch_ended() -> None:
    holds: list[object] = []

    class Block:
        def acquire(self) -> object:
            return Hold()

    class Hold:
        def __init__(self) -> None:
            holds.append(1)

        def __del__(self) -> None:
            holds.pop()

    s = stream()
    counts: list[int] = []
    with capturing(s) as templates:
        for _ in range(2):
            ok(rt.launchKernel(Work(lambda: counts.append(len(holds)), memory=[Block()]), s))
    executable = instantiate(templates[0])
    with rt.deferred():
        ok(rt.cudaGraphLaunch(executable, s))
        ok(rt.launchKernel(Work(lambda: counts.append(len(holds)), memory=[Block()]), s))
        assert len(holds) == 3
        ok(rt.cudaStreamSynchronize(s))
        assert holds == []
    assert counts == [3, 3, 1]


def test_failure_is_reported_by_what_waits_for_it() -> None:
    s, log, failure = stream(), [], ValueError("broken")

    def fail() -> None:
        raise failure

    with capturing(s) as templates:
        ok(rt.launchKernel(Work(fail), s))
        launch(s, log, "skipped")
    executable = instantiate(templates[0])
    with rt.deferred():
        ok(rt.cudaGraphLaunch(executable, s))
        launch(s, log, "behind")
        assert code(rt.cudaStreamSynchronize(s)) == E.cudaErrorLaunchFailure
        assert rt.last_failure() is failure
        ok(rt.cudaStreamSynchronize(s))
    assert log == ["behind"]
    with pytest.raises(ValueError, match="broken"), rt.deferred():
        ok(rt.launchKernel(Work(fail), s))
    launch(s, log, "usable")
    assert log == ["behind", "usable"]


def test_leaving_by_an_exception_still_drains() -> None:
    s, log = stream(), []

    def interrupted() -> None:
        with rt.deferred():
            launch(s, log, 0)
            raise KeyError

    with pytest.raises(KeyError):
        interrupted()
    assert log == [0]
    with rt.deferred(), pytest.raises(RuntimeError, match="already active"), rt.deferred():
        pytest.fail("entered twice")


def test_memory_freed_too_early_is_an_illegal_address() -> None:
    first, second = stream(), stream()
    failed = False
    for seed in range(20):
        address = ok(rt.cudaMallocAsync(64, first))
        with rt.deferred(seed):
            ok(rt.cudaMemsetAsync(address, 1, 64, first))
            ok(rt.cudaFreeAsync(address, second))
            failed |= code(rt.cudaDeviceSynchronize()) == E.cudaErrorIllegalAddress
    assert failed


def test_synchronous_memory_calls_wait() -> None:
    s, address, graph = stream(blocking=True), ok(rt.cudaMalloc(64)), ok(rt.cudaGraphCreate(0))
    memset(graph, memset_params(address, 5))
    executable = instantiate(graph)
    with rt.deferred():
        ok(rt.cudaGraphLaunch(executable, s))
        assert ctypes.string_at(address, 1) == b"\xff"
        ok(rt.cudaMemcpy(address + 32, address, 16, rt.cudaMemcpyKind.cudaMemcpyDefault))
        assert ctypes.string_at(address + 32, 1) == b"\x05"
        ok(rt.cudaGraphLaunch(executable, s))
        ok(rt.cudaFree(address))


def test_destroyed_objects_finish_their_work() -> None:
    executable, log = forked()
    s, mark = stream(), event()
    with rt.deferred():
        ok(rt.cudaGraphLaunch(executable, s))
        ok(rt.cudaEventRecord(mark, s))
        ok(rt.cudaGraphExecDestroy(executable))
        ok(rt.cudaEventDestroy(mark))
        ok(rt.cudaStreamDestroy(s))
        ok(rt.cudaDeviceSynchronize())
        assert len(log) == 5


def test_order_follows_the_seed() -> None:
    def run(seed: int) -> list[Any]:
        streams, log = [stream() for _ in range(4)], []
        with rt.deferred(seed):
            for entry in range(20):
                launch(streams[entry % 4], log, entry)
        return log

    assert run(7) == run(7)
    assert any(one != two for one, two in pairwise([run(seed) for seed in range(6)]))
