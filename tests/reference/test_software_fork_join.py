"""Streams that enter a capture through events, and leave it with all their work joined."""

from __future__ import annotations

import pytest

import reference_impl.runtime as rt

from .software_kit import (
    ACTIVE,
    INVALIDATED,
    NONE,
    RELAXED,
    E,
    after,
    begin,
    code,
    edges,
    event,
    in_thread,
    launch,
    nodes,
    ok,
    status,
    stream,
)


def test_fork_and_join_give_the_edges_of_the_program() -> None:
    main, side, log = stream(), stream(), []
    begin(main)
    launch(main, log, 0)
    after(main, side)
    assert status(side) == ACTIVE
    launch(side, log, 1)
    launch(main, log, 2)
    after(side, main)
    launch(main, log, 3)
    template = ok(rt.cudaStreamEndCapture(main))
    assert edges(template) == [(0, 1), (0, 2), (1, 3), (2, 3)]
    assert status(side) == NONE


def test_wait_takes_the_latest_record() -> None:
    main, side, mark, log = stream(), stream(), event(), []
    begin(main)
    launch(main, log, 0)
    ok(rt.cudaEventRecord(mark, main))
    launch(main, log, 1)
    ok(rt.cudaEventRecord(mark, main))
    launch(main, log, 2)
    ok(rt.cudaStreamWaitEvent(side, mark, 0))
    launch(side, log, 3)
    after(side, main)
    assert edges(ok(rt.cudaStreamEndCapture(main))) == [(0, 1), (1, 2), (1, 3)]


def test_fork_without_work_needs_no_join() -> None:
    main, side = stream(), stream()
    begin(main)
    launch(main, [], 0)
    after(main, side)
    assert len(nodes(ok(rt.cudaStreamEndCapture(main)))) == 1
    assert status(side) == NONE


@pytest.mark.parametrize("joined_before", [False, True])
def test_unjoined_work_is_refused(joined_before: bool) -> None:
    main, side = stream(), stream()
    begin(main)
    after(main, side)
    launch(side, [], 0)
    if joined_before:
        after(side, main)
        launch(side, [], 1)
    assert rt.cudaStreamEndCapture(main) == (E.cudaErrorStreamCaptureUnjoined, None)
    assert status(main) == status(side) == NONE


def test_destroyed_fork_leaves_its_work_to_join() -> None:
    main, side = stream(), stream()
    begin(main)
    after(main, side)
    ok(rt.cudaStreamDestroy(side))
    ok(rt.cudaStreamEndCapture(main))
    side = stream()
    begin(main)
    after(main, side)
    launch(side, [], 0)
    ok(rt.cudaStreamDestroy(side))
    assert code(rt.cudaStreamEndCapture(main)) == E.cudaErrorStreamCaptureUnjoined


def test_ending_on_a_fork_is_unmatched_and_breaks_the_capture() -> None:
    main, side = stream(), stream()
    begin(main)
    after(main, side)
    assert rt.cudaStreamEndCapture(side) == (E.cudaErrorStreamCaptureUnmatched, None)
    assert status(main) == status(side) == INVALIDATED
    assert rt.cudaStreamEndCapture(main) == (E.cudaErrorStreamCaptureInvalidated, None)
    assert status(side) == NONE


def test_two_captures_do_not_merge() -> None:
    first, second, mark = stream(), stream(), event()
    begin(first)
    begin(second)
    ok(rt.cudaEventRecord(mark, first))
    assert code(rt.cudaStreamWaitEvent(second, mark, 0)) == E.cudaErrorStreamCaptureMerge
    assert status(first) == status(second) == INVALIDATED
    for s in (first, second):
        assert code(rt.cudaStreamEndCapture(s)) == E.cudaErrorStreamCaptureInvalidated


def test_uncaptured_event_breaks_the_capture_that_waits_for_it() -> None:
    s, mark = stream(), event()
    begin(s)
    ok(rt.cudaStreamWaitEvent(s, mark, 0))
    assert status(s) == ACTIVE, "an event that was never recorded is nothing to wait for"
    ok(rt.cudaEventRecord(mark, stream()))
    assert code(rt.cudaStreamWaitEvent(s, mark, 0)) == E.cudaErrorStreamCaptureIsolation
    assert rt.cudaStreamEndCapture(s) == (E.cudaErrorStreamCaptureInvalidated, None)


@pytest.mark.parametrize("call", [rt.cudaEventQuery, rt.cudaEventSynchronize])
def test_captured_event_cannot_be_waited_for_by_the_host(call: object) -> None:
    assert callable(call)
    s, other, mark = stream(), stream(), event()
    begin(s)
    begin(other)
    ok(rt.cudaEventRecord(mark, s))
    assert code(in_thread(lambda: call(mark))) == E.cudaErrorCapturedEvent
    assert (status(s), status(other)) == (INVALIDATED, ACTIVE)
    rt.cudaStreamEndCapture(s)
    ok(rt.cudaStreamEndCapture(other))


def test_event_of_an_ended_capture_is_no_mark_any_more() -> None:
    s, other, mark = stream(), stream(), event()
    begin(s)
    ok(rt.cudaEventRecord(mark, s))
    ok(rt.cudaStreamEndCapture(s))
    assert code(rt.cudaEventQuery(mark)) == E.cudaErrorInvalidValue
    assert code(rt.cudaStreamWaitEvent(other, mark, 0)) == E.cudaErrorInvalidValue
    assert status(other) == NONE
    begin(other)
    assert code(rt.cudaStreamWaitEvent(other, mark, 0)) == E.cudaErrorInvalidValue
    assert code(rt.cudaStreamEndCapture(other)) == E.cudaErrorStreamCaptureInvalidated
    ok(rt.cudaEventRecord(mark, s))
    ok(rt.cudaEventSynchronize(mark))


def test_captured_event_on_the_legacy_stream_is_implicit() -> None:
    s, mark = stream(), event()
    begin(s)
    ok(rt.cudaEventRecord(mark, s))
    assert code(rt.cudaStreamWaitEvent(0, mark, 0)) == E.cudaErrorStreamCaptureImplicit
    assert code(rt.cudaStreamEndCapture(s)) == E.cudaErrorStreamCaptureInvalidated


def test_record_outside_of_the_capture_frees_the_event() -> None:
    s, mark = stream(), event()
    begin(s, RELAXED)
    ok(rt.cudaEventRecord(mark, s))
    ok(rt.cudaEventRecord(mark, stream()))
    ok(rt.cudaEventQuery(mark))
    ok(rt.cudaStreamEndCapture(s))


def test_external_records_and_waits_become_nodes() -> None:
    s, mark = stream(), event()
    assert code(rt.cudaEventRecordWithFlags(mark, s, rt.cudaEventRecordExternal)) == E.cudaErrorIllegalState
    assert code(rt.cudaStreamWaitEvent(s, mark, rt.cudaEventWaitExternal)) == E.cudaErrorIllegalState
    begin(s)
    ok(rt.cudaEventRecordWithFlags(mark, s, rt.cudaEventRecordExternal))
    ok(rt.cudaStreamWaitEvent(s, mark, rt.cudaEventWaitExternal))
    template = ok(rt.cudaStreamEndCapture(s))
    types = [ok(rt.cudaGraphNodeGetType(node)).name for node in nodes(template)]
    assert types == ["cudaGraphNodeTypeEventRecord", "cudaGraphNodeTypeWaitEvent"]
    assert int(ok(rt.cudaGraphEventRecordNodeGetEvent(nodes(template)[0]))) == int(mark)


def test_fork_can_be_used_from_another_thread() -> None:
    main, side, log = stream(), stream(), []
    begin(main)
    after(main, side)
    in_thread(lambda: launch(side, log, 0))
    after(side, main)
    assert len(nodes(ok(rt.cudaStreamEndCapture(main)))) == 1
    assert log == []
