"""Handles: integers of their own for every object, and an error code for any other integer."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from cuda.bindings import runtime as native

import reference_impl.runtime as rt

from .software_kit import E, begin, code, empty, event, instantiate, ok, stream

TEMPLATE, EXECUTABLE, NODE, STREAM, EVENT = "template", "executable", "node", "stream", "event"

CALLS: list[tuple[str, Callable[[Any], Any]]] = [
    (TEMPLATE, rt.cudaGraphDestroy),
    (TEMPLATE, rt.cudaGraphGetNodes),
    (TEMPLATE, rt.cudaGraphGetEdges),
    (TEMPLATE, rt.cudaGraphGetRootNodes),
    (TEMPLATE, rt.cudaGraphClone),
    (TEMPLATE, rt.cudaGraphGetId),
    (TEMPLATE, lambda h: rt.cudaGraphInstantiate(h, 0)),
    (TEMPLATE, lambda h: rt.cudaGraphAddEmptyNode(h, None, 0)),
    (TEMPLATE, lambda h: rt.cudaGraphDebugDotPrint(h, b"/nonexistent/x", 0)),
    (NODE, rt.cudaGraphNodeGetType),
    (NODE, rt.cudaGraphDestroyNode),
    (NODE, rt.cudaGraphNodeGetDependencies),
    (NODE, rt.cudaGraphNodeGetDependentNodes),
    (NODE, rt.cudaGraphChildGraphNodeGetGraph),
    (NODE, rt.cudaGraphMemsetNodeGetParams),
    (NODE, rt.cudaGraphNodeGetToolsId),
    (EXECUTABLE, rt.cudaGraphExecDestroy),
    (EXECUTABLE, rt.cudaGraphExecGetFlags),
    (EXECUTABLE, lambda h: rt.cudaGraphLaunch(h, 0)),
    (EXECUTABLE, lambda h: rt.cudaGraphUpload(h, 0)),
    (STREAM, rt.cudaStreamDestroy),
    (EVENT, rt.cudaEventDestroy),
    (EVENT, rt.cudaEventQuery),
    (EVENT, lambda event: rt.cudaEventElapsedTime(event, event)),
    (EVENT, rt.cudaEventSynchronize),
    (EVENT, lambda h: rt.cudaEventRecord(h, 0)),
    (EVENT, lambda h: rt.cudaStreamWaitEvent(0, h, 0)),
]
# Zero is a stream: the default one.
STREAM_CALLS: list[Callable[[Any], Any]] = [
    rt.cudaStreamQuery,
    rt.cudaStreamSynchronize,
    rt.cudaStreamIsCapturing,
    rt.cudaStreamGetCaptureInfo,
    rt.cudaStreamEndCapture,
    rt.cudaStreamGetFlags,
    lambda h: rt.cudaEventRecord(event(), h),
    lambda h: rt.cudaMallocAsync(16, h),
]
EXPECTED = {STREAM: E.cudaErrorInvalidResourceHandle, EVENT: E.cudaErrorInvalidResourceHandle}


def objects() -> dict[str, Any]:
    template = ok(rt.cudaGraphCreate(0))
    return {
        TEMPLATE: template,
        NODE: empty(template),
        EXECUTABLE: instantiate(template),
        STREAM: stream(),
        EVENT: event(),
    }


def stale() -> dict[str, Any]:
    handles = objects()
    ok(rt.cudaGraphExecDestroy(handles[EXECUTABLE]))
    ok(rt.cudaGraphDestroy(handles[TEMPLATE]))
    ok(rt.cudaStreamDestroy(handles[STREAM]))
    ok(rt.cudaEventDestroy(handles[EVENT]))
    return handles


@pytest.mark.parametrize(("kind", "call"), CALLS)
def test_other_handles_get_an_error_code(kind: str, call: Callable[[Any], Any]) -> None:
    live = objects()
    wrong = [int(handle) for other, handle in live.items() if other != kind]
    for handle in (0, 12345, -1, None, stale()[kind], *wrong):
        answer = call(handle)
        assert code(answer) == EXPECTED.get(kind, E.cudaErrorInvalidValue)
        assert all(each is None for each in answer[1:])


@pytest.mark.parametrize("call", STREAM_CALLS)
def test_other_streams_get_an_error_code(call: Callable[[Any], Any]) -> None:
    for handle in (12345, -1, stale()[STREAM], int(objects()[EVENT])):
        assert code(call(handle)) == E.cudaErrorInvalidResourceHandle
    for default in (1, 2):
        assert code(rt.cudaStreamDestroy(default)) == E.cudaErrorInvalidResourceHandle


def test_handles_look_like_addresses_and_are_never_given_twice() -> None:
    earlier: set[int] = set()
    for _ in range(20):
        handles = {int(handle) for handle in stale().values()}
        assert all(handle >> 40 == 0x7F and handle % 16 == 0 for handle in handles)
        assert len(handles) == 5
        assert not handles & earlier
        earlier |= handles


def test_plain_integers_and_handle_objects_are_the_same() -> None:
    s = stream()
    assert isinstance(s, rt.cudaStream_t)
    begin(int(s))
    template = ok(rt.cudaStreamEndCapture(s))
    assert isinstance(template, rt.cudaGraph_t)
    node = ok(rt.cudaGraphAddEmptyNode(int(template), None, 0))
    assert isinstance(node, rt.cudaGraphNode_t)
    assert rt.cudaGraphGetNodes(int(template), 1)[1] == [node]
    ok(rt.cudaGraphAddEmptyNode(template, [int(node)], 1))


def test_counts_return_to_their_baseline() -> None:
    before = rt.live_counts()
    s, mark = stream(), event()
    begin(s)
    during = rt.live_counts()
    assert {name: during[name] - before[name] for name in before} == {
        "streams": 1,
        "events": 1,
        "graphs": 1,
        "execs": 0,
        "captures": 1,
        "allocations": 0,
    }
    template = ok(rt.cudaStreamEndCapture(s))
    ok(rt.cudaGraphAddChildGraphNode(template, None, 0, template := ok(rt.cudaGraphClone(template))))
    executable = instantiate(template)
    assert rt.live_counts()["execs"] == before["execs"] + 1
    ok(rt.cudaGraphExecDestroy(executable))
    ok(rt.cudaEventDestroy(mark))
    ok(rt.cudaStreamDestroy(s))


@pytest.mark.parametrize("name", [name for name in rt.__all__ if name.startswith("cuda")])
def test_names_and_results_are_those_of_the_bindings(name: str) -> None:
    ours, theirs = getattr(rt, name), getattr(native, name)
    if not inspect.isfunction(ours):
        assert ours is theirs or ours == theirs
        return
    declared = (theirs.__doc__ or "").splitlines()[0].partition("(")[2].rpartition(")")[0]
    if declared:
        names = [part.partition(":")[0].partition("=")[0].split()[-1].lstrip("*") for part in split(declared)]
        assert list(inspect.signature(ours).parameters) == names


def split(declared: str) -> list[str]:
    """The parameters of a signature, apart at the commas that no bracket encloses."""
    parts, depth = [""], 0
    for letter in declared:
        depth += (letter in "[(") - (letter in "])")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part for part in parts if part.strip()]


def test_device_queries() -> None:
    assert rt.cudaGetDeviceCount() == (E.cudaSuccess, 1)
    assert rt.cudaGetDevice() == (E.cudaSuccess, 0)
    assert rt.cudaSetDevice(0) == (E.cudaSuccess,)
    assert rt.cudaSetDevice(1) == (E.cudaErrorInvalidDevice,)
    assert ok(rt.cudaRuntimeGetVersion()) >= 12000
    assert rt.cudaGetErrorName(E.cudaErrorIllegalState) == (E.cudaSuccess, b"cudaErrorIllegalState")
    assert ok(rt.cudaGetErrorString(E.cudaErrorMemoryAllocation)) == b"out of memory"
    assert ok(rt.cudaStreamGetFlags(stream())) == rt.cudaStreamNonBlocking
    assert ok(rt.cudaStreamGetId(0)) == ok(rt.cudaStreamGetId(rt.cudaStreamLegacy))
    assert ok(rt.cudaStreamGetPriority(ok(rt.cudaStreamCreateWithPriority(1, -99)))) == -5
    assert ok(rt.cudaStreamGetDevice(0)) == 0
    assert rt.cudaStreamCreateWithFlags(2) == (E.cudaErrorInvalidValue, None)
    assert rt.cudaEventCreateWithFlags(64) == (E.cudaErrorInvalidValue, None)
    assert rt.cudaEventCreateWithFlags(rt.cudaEventInterprocess) == (E.cudaErrorInvalidValue, None)
