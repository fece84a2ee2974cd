"""Which calls a capture takes, refuses and breaks on, and how it ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import reference_impl.runtime as rt

from .software_kit import (
    ACTIVE,
    GLOBAL,
    INVALIDATED,
    MODES,
    NONE,
    RELAXED,
    E,
    Work,
    after,
    begin,
    code,
    edges,
    empty,
    event,
    instantiate,
    launch,
    nodes,
    ok,
    status,
    stream,
)


def test_capture_runs_nothing_and_replay_runs_it_all() -> None:
    s, log = stream(), []
    begin(s)
    launch(s, log, "a")
    launch(s, log, "b")
    template = ok(rt.cudaStreamEndCapture(s))
    assert log == []
    executable = instantiate(template)
    ok(rt.cudaGraphLaunch(executable, 0))
    ok(rt.cudaGraphLaunch(executable, s))
    assert log == ["a", "b", "a", "b"]
    assert edges(template) == [(0, 1)]


@pytest.mark.parametrize("legacy", [0, rt.cudaStreamLegacy])
def test_legacy_stream_cannot_capture(legacy: int) -> None:
    assert code(rt.cudaStreamBeginCapture(legacy, GLOBAL)) == E.cudaErrorStreamCaptureUnsupported
    assert status(legacy) == NONE


def test_per_thread_stream_captures() -> None:
    begin(rt.cudaStreamPerThread)
    assert status(rt.cudaStreamPerThread) == ACTIVE
    assert nodes(ok(rt.cudaStreamEndCapture(rt.cudaStreamPerThread))) == []


def test_begin_twice_and_end_without_begin_are_illegal() -> None:
    s = stream()
    assert rt.cudaStreamEndCapture(s) == (E.cudaErrorIllegalState, None)
    begin(s)
    assert code(rt.cudaStreamBeginCapture(s, GLOBAL)) == E.cudaErrorIllegalState
    assert status(s) == ACTIVE
    ok(rt.cudaStreamEndCapture(s))
    assert rt.cudaStreamEndCapture(s) == (E.cudaErrorIllegalState, None)


def test_unknown_mode_is_refused() -> None:
    s = stream()
    assert code(rt.cudaStreamBeginCapture(s, 77)) == E.cudaErrorInvalidValue
    assert status(s) == NONE


def test_capture_info_follows_the_capture() -> None:
    s, log, numbers = stream(), [], []
    for _ in range(2):
        begin(s)
        first = ok(rt.cudaStreamGetCaptureInfo(s))
        assert first[0] == ACTIVE
        assert first[3:] == ([], [], 0)
        launch(s, log, "a")
        state, number, template, waits, data, count = ok(rt.cudaStreamGetCaptureInfo(s))
        assert (state, number, count, len(data)) == (ACTIVE, first[1], 1, 1)
        assert nodes(template) == [int(waits[0])]
        assert ok(rt.cudaStreamEndCapture(s)) == template
        numbers.append(number)
    assert numbers[0] != numbers[1]
    assert [int(each) for each in ok(rt.cudaStreamGetCaptureInfo(s))[:3]] == [int(NONE), 0, 0]


def broken() -> tuple[Any, Any, Any]:
    """A capture on a stream, with a forked stream and an event, that a query has invalidated."""
    main, side, mark = stream(), stream(), event()
    begin(main, RELAXED)
    launch(main, [], "a")
    ok(rt.cudaEventRecord(mark, main))
    ok(rt.cudaStreamWaitEvent(side, mark, 0))
    assert code(rt.cudaStreamQuery(side)) == E.cudaErrorStreamCaptureUnsupported
    return main, side, mark


def test_invalidated_capture_has_no_template_left() -> None:
    main, side, _ = broken()
    assert status(main) == status(side) == INVALIDATED
    assert [int(each) for each in ok(rt.cudaStreamGetCaptureInfo(main))[:3]] == [int(INVALIDATED), 0, 0]
    assert rt.cudaStreamEndCapture(main) == (E.cudaErrorStreamCaptureInvalidated, None)
    assert status(main) == status(side) == NONE


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        (lambda main, side, mark: rt.cudaMallocAsync(16, side), E.cudaErrorStreamCaptureInvalidated),
        (lambda main, side, mark: rt.cudaEventRecord(event(), main), E.cudaErrorStreamCaptureInvalidated),
        (lambda main, side, mark: rt.cudaStreamWaitEvent(main, event(), 0), E.cudaErrorStreamCaptureInvalidated),
        (
            lambda main, side, mark: rt.cudaStreamUpdateCaptureDependencies(main, None, None, 0, 1),
            E.cudaErrorStreamCaptureInvalidated,
        ),
        (lambda main, side, mark: rt.cudaStreamWaitEvent(stream(), mark, 0), E.cudaErrorInvalidValue),
        (lambda main, side, mark: rt.cudaEventQuery(mark), E.cudaErrorInvalidValue),
        (lambda main, side, mark: rt.cudaStreamSynchronize(side), E.cudaErrorStreamCaptureUnsupported),
        (lambda main, side, mark: rt.cudaStreamBeginCapture(main, RELAXED), E.cudaErrorIllegalState),
        (lambda main, side, mark: rt.cudaStreamEndCapture(side), E.cudaErrorStreamCaptureUnmatched),
    ],
)
def test_use_of_an_invalidated_capture(use: Callable[..., Any], expected: Any) -> None:
    main, side, mark = broken()
    assert code(use(main, side, mark)) == expected
    assert status(main) == status(side) == INVALIDATED
    assert rt.cudaStreamEndCapture(main) == (E.cudaErrorStreamCaptureInvalidated, None)


def test_launching_into_an_invalidated_capture_is_refused_and_runs_nothing() -> None:
    main, side, _ = broken()
    ran: list[int] = []
    assert code(rt.launchKernel(Work(lambda: ran.append(1)), side)) == E.cudaErrorStreamCaptureInvalidated
    rt.cudaStreamEndCapture(main)
    assert ran == []
    launch(side, ran, 2)
    assert ran == [2]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("call", [rt.cudaStreamSynchronize, rt.cudaStreamQuery])
def test_waiting_for_a_capturing_stream_breaks_only_its_capture(mode: Any, call: Callable[..., Any]) -> None:
    first, second = stream(), stream()
    begin(first, mode)
    begin(second, GLOBAL)
    assert code(call(first)) == E.cudaErrorStreamCaptureUnsupported
    assert (status(first), status(second)) == (INVALIDATED, ACTIVE)
    rt.cudaStreamEndCapture(first)
    ok(rt.cudaStreamEndCapture(second))


def test_device_synchronize_breaks_every_capture() -> None:
    streams = [stream() for _ in MODES]
    for s, mode in zip(streams, MODES, strict=True):
        begin(s, mode)
    assert code(rt.cudaDeviceSynchronize()) == E.cudaErrorStreamCaptureUnsupported
    assert [status(s) for s in streams] == [INVALIDATED] * 3
    for s in streams:
        rt.cudaStreamEndCapture(s)
    ok(rt.cudaDeviceSynchronize())


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "use",
    [
        lambda: rt.cudaMemset(0, 0, 0),
        lambda: rt.cudaStreamQuery(0),
        lambda: rt.cudaStreamSynchronize(rt.cudaStreamLegacy),
        lambda: rt.cudaEventRecord(event(), 0),
        lambda: rt.cudaStreamWaitEvent(0, event(), 0),
    ],
)
def test_legacy_stream_breaks_captures_of_blocking_streams(mode: Any, use: Callable[[], Any]) -> None:
    blocking, apart = stream(blocking=True), stream()
    begin(blocking, mode)
    begin(apart, mode)
    assert code(rt.cudaStreamIsCapturing(0)) == E.cudaErrorStreamCaptureImplicit
    assert status(blocking) == ACTIVE
    assert code(use()) == E.cudaErrorStreamCaptureImplicit
    assert (status(blocking), status(apart)) == (INVALIDATED, ACTIVE)
    rt.cudaStreamEndCapture(blocking)
    ok(rt.cudaStreamEndCapture(apart))


def test_update_capture_dependencies_adds_and_sets() -> None:
    s, log = stream(), []
    assert code(rt.cudaStreamUpdateCaptureDependencies(s, None, None, 0, 0)) == E.cudaErrorIllegalState
    begin(s)
    launch(s, log, "a")
    template = ok(rt.cudaStreamGetCaptureInfo(s))[2]
    extra = empty(template)
    ok(rt.cudaStreamUpdateCaptureDependencies(s, [extra], None, 1, 0))
    launch(s, log, "b")
    ok(rt.cudaStreamUpdateCaptureDependencies(s, [extra, extra], None, 2, 1))
    launch(s, log, "c")
    foreign = empty(ok(rt.cudaGraphCreate(0)))
    assert code(rt.cudaStreamUpdateCaptureDependencies(s, [foreign], None, 1, 1)) == E.cudaErrorInvalidValue
    assert edges(ok(rt.cudaStreamEndCapture(s))) == [(0, 2), (1, 2), (1, 3)]


def test_capture_into_an_existing_template() -> None:
    s, template = stream(), ok(rt.cudaGraphCreate(0))
    node = empty(template)
    ok(rt.cudaStreamBeginCaptureToGraph(s, template, [node], None, 1, GLOBAL))
    launch(s, [], "a")
    assert code(rt.cudaGraphDestroy(template)) == E.cudaErrorIllegalState
    assert code(rt.cudaGraphDestroyNode(node)) == E.cudaErrorIllegalState
    assert ok(rt.cudaStreamEndCapture(s)) == template
    assert edges(template) == [(0, 1)]


@pytest.mark.parametrize("mode", MODES)
def test_executable_cannot_be_launched_into_a_capture(mode: Any) -> None:
    executable = instantiate(ok(rt.cudaGraphCreate(0)))
    for call in (rt.cudaGraphLaunch, rt.cudaGraphUpload):
        s = stream()
        begin(s, mode)
        assert code(call(executable, s)) == E.cudaErrorStreamCaptureUnsupported
        assert rt.cudaStreamEndCapture(s) == (E.cudaErrorStreamCaptureInvalidated, None)


def test_destroying_the_origin_stream_ends_its_capture() -> None:
    main, side = stream(), stream()
    begin(main)
    after(main, side)
    before = rt.live_counts()["captures"]
    ok(rt.cudaStreamDestroy(main))
    assert status(side) == NONE
    assert rt.live_counts()["captures"] == before - 1
    assert rt.cudaMalloc(16)[0] == E.cudaSuccess
