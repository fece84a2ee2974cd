"""Which thread's capture prohibits what to whom."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
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
    THREAD_LOCAL,
    E,
    Work,
    begin,
    code,
    event,
    in_thread,
    instantiate,
    launch,
    nodes,
    ok,
    status,
    stream,
)


def in_mode(mode: Any, call: Callable[[], Any]) -> Any:
    before = ok(rt.cudaThreadExchangeStreamCaptureMode(mode))
    try:
        return call()
    finally:
        assert ok(rt.cudaThreadExchangeStreamCaptureMode(before)) == mode


def permitted(capture: Any, thread: Any, *, own: bool) -> bool:
    if RELAXED in (thread, capture):
        return True
    return not own and THREAD_LOCAL in (thread, capture)


@pytest.mark.parametrize("capture", MODES)
@pytest.mark.parametrize("thread", MODES)
@pytest.mark.parametrize("own", [True, False])
def test_unsafe_call(capture: Any, thread: Any, own: bool) -> None:
    s = stream()
    begin(s, capture)

    def call() -> Any:
        return in_mode(thread, lambda: rt.cudaMalloc(16))

    answer = call() if own else in_thread(call)
    if permitted(capture, thread, own=own):
        assert code(answer) == E.cudaSuccess
        assert status(s) == ACTIVE
        ok(rt.cudaStreamEndCapture(s))
    else:
        assert answer == (E.cudaErrorStreamCaptureUnsupported, None)
        assert status(s) == INVALIDATED
        assert code(rt.cudaStreamEndCapture(s)) == E.cudaErrorStreamCaptureInvalidated


def calls() -> list[tuple[str, bool, Callable[[], Any]]]:
    """Calls by name, whether a capture prohibits them, and how they are made."""
    other, mark = stream(), event()
    address = ok(rt.cudaMalloc(64))
    template = ok(rt.cudaGraphCreate(0))
    executable = instantiate(template)
    return [
        ("cudaMalloc", False, lambda: rt.cudaMalloc(16)),
        ("cudaFree", False, lambda: rt.cudaFree(0)),
        ("cudaMallocAsync", False, lambda: rt.cudaMallocAsync(16, other)),
        ("cudaEventQuery", False, lambda: rt.cudaEventQuery(mark)),
        ("cudaEventSynchronize", False, lambda: rt.cudaEventSynchronize(mark)),
        ("cudaStreamQuery", False, lambda: rt.cudaStreamQuery(other)),
        ("cudaStreamSynchronize", False, lambda: rt.cudaStreamSynchronize(other)),
        ("cudaHostRegister", False, lambda: rt.cudaHostRegister(address, 64, 0)),
        ("cudaGraphInstantiate", False, lambda: rt.cudaGraphInstantiate(template, 0)),
        ("cudaGraphExecDestroy", False, lambda: rt.cudaGraphExecDestroy(0)),
        ("cudaMemset", True, lambda: rt.cudaMemset(address, 0, 64)),
        ("cudaMemsetAsync", True, lambda: rt.cudaMemsetAsync(address, 0, 64, other)),
        ("cudaEventCreate", True, rt.cudaEventCreate),
        ("cudaEventRecord", True, lambda: rt.cudaEventRecord(mark, other)),
        ("cudaStreamCreate", True, rt.cudaStreamCreate),
        ("cudaStreamWaitEvent", True, lambda: rt.cudaStreamWaitEvent(other, mark, 0)),
        ("cudaGraphLaunch", True, lambda: rt.cudaGraphLaunch(executable, other)),
        ("cudaGraphUpload", True, lambda: rt.cudaGraphUpload(executable, other)),
        ("cudaGraphDestroy", True, lambda: rt.cudaGraphDestroy(rt.cudaGraphCreate(0)[1])),
        ("launchKernel", True, lambda: rt.launchKernel(Work(lambda: None), other)),
    ]


@pytest.mark.parametrize("name", [name for name, _, _ in calls()])
def test_which_calls_are_unsafe(name: str) -> None:
    safe, call = next((safe, call) for each, safe, call in calls() if each == name)
    s = stream()
    begin(s, GLOBAL)
    assert code(call()) == (E.cudaSuccess if safe else E.cudaErrorStreamCaptureUnsupported)
    assert status(s) == (ACTIVE if safe else INVALIDATED)
    rt.cudaStreamEndCapture(s)


def test_prohibition_breaks_only_the_captures_that_prohibit() -> None:
    strict, relaxed = stream(), stream()
    begin(strict, GLOBAL)
    begin(relaxed, RELAXED)
    assert code(rt.cudaMalloc(16)) == E.cudaErrorStreamCaptureUnsupported
    assert (status(strict), status(relaxed)) == (INVALIDATED, ACTIVE)
    assert code(rt.cudaMalloc(16)) == E.cudaErrorStreamCaptureUnsupported, "until the broken capture is ended"
    rt.cudaStreamEndCapture(strict)
    ok(rt.cudaMalloc(16))
    ok(rt.cudaStreamEndCapture(relaxed))


@pytest.mark.parametrize("mode", MODES)
def test_ending_in_another_thread(mode: Any) -> None:
    s = stream()
    begin(s, mode)
    answer = in_thread(lambda: rt.cudaStreamEndCapture(s))
    assert code(answer) == (E.cudaSuccess if mode == RELAXED else E.cudaErrorStreamCaptureWrongThread)
    assert status(s) == NONE


def test_ending_a_broken_capture_in_another_thread() -> None:
    s = stream()
    begin(s, GLOBAL)
    rt.cudaStreamSynchronize(s)
    assert code(in_thread(lambda: rt.cudaStreamEndCapture(s))) == E.cudaErrorStreamCaptureInvalidated
    assert status(s) == NONE


def test_last_error_belongs_to_the_thread() -> None:
    rt.cudaGetLastError()
    rt.cudaStreamEndCapture(stream())
    assert in_thread(rt.cudaGetLastError) == (E.cudaSuccess,)
    assert rt.cudaPeekAtLastError() == (E.cudaErrorIllegalState,)
    assert rt.cudaGetLastError() == (E.cudaErrorIllegalState,)
    assert rt.cudaGetLastError() == (E.cudaSuccess,)


def test_per_thread_streams_are_apart() -> None:
    begin(rt.cudaStreamPerThread, RELAXED)
    assert in_thread(lambda: status(rt.cudaStreamPerThread)) == NONE
    ok(rt.cudaStreamEndCapture(rt.cudaStreamPerThread))


def test_threads_capture_and_replay_at_the_same_time() -> None:
    def program(seed: int) -> list[int]:
        s, log = stream(), []
        for _ in range(20):
            begin(s, THREAD_LOCAL)
            for entry in range(seed, seed + 10):
                launch(s, log, entry)
            template = ok(rt.cudaStreamEndCapture(s))
            assert len(nodes(template)) == 10
            executable = instantiate(template)
            ok(rt.cudaGraphLaunch(executable, s))
            ok(rt.cudaGraphExecDestroy(executable))
            ok(rt.cudaGraphDestroy(template))
        ok(rt.cudaStreamDestroy(s))
        return log

    with ThreadPoolExecutor(8) as pool:
        seeds = range(0, 800, 100)
        for seed, log in zip(seeds, pool.map(program, seeds), strict=True):
            assert log == [*range(seed, seed + 10)] * 20


def test_kernels_of_two_threads_run_at_the_same_time() -> None:
    barrier = threading.Barrier(2, timeout=10)
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda _: rt.launchKernel(Work(barrier.wait), stream()), range(2)))
    assert answers == [(E.cudaSuccess,)] * 2
