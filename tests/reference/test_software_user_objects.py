"""User objects: alive while the user, a template, an executable or a launch refers to them."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

import reference_impl.runtime as rt

from .software_kit import E, Work, code, in_thread, instantiate, ok, stream

NO_SYNC = int(rt.cudaUserObjectFlags.cudaUserObjectNoDestructorSync)
MOVE = int(rt.cudaUserObjectRetainFlags.cudaGraphUserObjectMove)

destroyed: list[int] = []
note = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(destroyed.append)


def function() -> Any:
    return rt.cudaHostFn_t(init_value=ctypes.cast(note, ctypes.c_void_p).value)


def user_object(number: int, references: int = 1) -> Any:
    destroyed.clear()
    return ok(rt.cudaUserObjectCreate(number, function(), references, NO_SYNC))


def template() -> Any:
    return ok(rt.cudaGraphCreate(0))


def kept_by(graph: Any, number: int = 7) -> Any:
    """An object that only the template refers to."""
    item = user_object(number)
    ok((*rt.cudaGraphRetainUserObject(graph, item, 1, MOVE), None))
    return item


def test_destroyed_with_the_users_last_reference() -> None:
    item = user_object(3, references=2)
    assert code(rt.cudaUserObjectRetain(item, 1)) == E.cudaSuccess
    assert code(rt.cudaUserObjectRelease(item, 2)) == E.cudaSuccess
    assert destroyed == []
    assert code(rt.cudaUserObjectRelease(item, 1)) == E.cudaSuccess
    assert destroyed == [3]
    assert code(rt.cudaUserObjectRetain(item, 1)) == E.cudaErrorInvalidValue


def test_a_template_keeps_what_it_was_given_until_it_is_destroyed() -> None:
    graph, item = template(), user_object(4)
    assert code(rt.cudaGraphRetainUserObject(graph, item, 2, 0)) == E.cudaSuccess
    assert code(rt.cudaUserObjectRelease(item, 1)) == E.cudaSuccess
    assert code(rt.cudaGraphReleaseUserObject(graph, item, 1)) == E.cudaSuccess
    assert destroyed == []
    rt.cudaGraphDestroy(graph)
    assert destroyed == [4]


def test_a_template_may_give_it_back() -> None:
    graph = template()
    item = kept_by(graph)
    assert code(rt.cudaGraphReleaseUserObject(graph, item, 1)) == E.cudaSuccess
    assert destroyed == [7]


def test_references_given_one_after_the_other_add_up() -> None:
    graph = template()
    item = kept_by(graph)
    assert code(rt.cudaGraphRetainUserObject(graph, item, 1, 0)) == E.cudaSuccess
    assert code(rt.cudaGraphReleaseUserObject(graph, item, 1)) == E.cudaSuccess
    assert destroyed == []
    assert code(rt.cudaGraphReleaseUserObject(graph, item, 1)) == E.cudaSuccess
    assert destroyed == [7]


@pytest.mark.parametrize("last", ["template", "clone", "executable"])
def test_copies_have_references_of_their_own(last: str) -> None:
    graph = template()
    kept_by(graph)
    executable, clone = instantiate(graph), ok(rt.cudaGraphClone(graph))
    ends = {
        "template": lambda: rt.cudaGraphDestroy(graph),
        "clone": lambda: rt.cudaGraphDestroy(clone),
        "executable": lambda: rt.cudaGraphExecDestroy(executable),
    }
    for end in sorted(ends, key=lambda end: end == last):
        assert destroyed == []
        assert code(ends[end]()) == E.cudaSuccess
    assert destroyed == [7]


def test_a_child_graph_node_keeps_what_its_template_kept() -> None:
    graph, inner = template(), template()
    kept_by(inner)
    node = ok(rt.cudaGraphAddChildGraphNode(graph, None, 0, inner))
    rt.cudaGraphDestroy(inner)
    executable = instantiate(graph)
    rt.cudaGraphDestroyNode(node)
    rt.cudaGraphDestroy(graph)
    assert destroyed == []
    rt.cudaGraphExecDestroy(executable)
    assert destroyed == [7]


def test_an_update_exchanges_what_the_executable_keeps() -> None:
    graph, other = template(), template()
    kept_by(graph, 1)
    executable = instantiate(graph)
    rt.cudaGraphDestroy(graph)
    item = user_object(2)
    rt.cudaGraphRetainUserObject(other, item, 1, MOVE)
    assert code(rt.cudaGraphExecUpdate(executable, other)) == E.cudaSuccess
    assert destroyed == [1]
    rt.cudaGraphDestroy(other)
    assert destroyed == [1]
    rt.cudaGraphExecDestroy(executable)
    assert destroyed == [1, 2]


def test_new_parameters_of_a_child_bring_theirs() -> None:
    graph, inner, other = template(), template(), template()
    node = ok(rt.cudaGraphAddChildGraphNode(graph, None, 0, inner))
    executable = instantiate(graph)
    kept_by(other)
    assert code(rt.cudaGraphExecChildGraphNodeSetParams(executable, node, other)) == E.cudaSuccess
    rt.cudaGraphDestroy(other)
    assert destroyed == []
    rt.cudaGraphExecDestroy(executable)
    assert destroyed == [7]


def test_a_launch_in_flight_keeps_it() -> None:
    snapshots: list[list[int]] = []
    with rt.deferred():
        main, graph = stream(), template()
        kept_by(graph)
        rt.cudaStreamBeginCaptureToGraph(
            main, graph, None, None, 0, rt.cudaStreamCaptureMode.cudaStreamCaptureModeRelaxed
        )
        rt.launchKernel(Work(lambda: snapshots.append(list(destroyed))), main)
        rt.cudaStreamEndCapture(main)
        executable = instantiate(graph)
        rt.cudaGraphLaunch(executable, main)
        rt.cudaGraphExecDestroy(executable)
        rt.cudaGraphDestroy(graph)
        assert destroyed == []
        rt.cudaStreamSynchronize(main)
    assert snapshots == [[]]
    assert destroyed == [7]


def test_destroyed_in_any_thread() -> None:
    graph = template()
    kept_by(graph)
    in_thread(lambda: rt.cudaGraphDestroy(graph))
    assert destroyed == [7]


def test_refusals() -> None:
    graph, invalid = template(), E.cudaErrorInvalidValue
    item = user_object(5, references=2)
    stale = user_object(6)
    rt.cudaUserObjectRelease(stale, 1)
    for flags in (0, 2, 3):
        assert code(rt.cudaUserObjectCreate(1, function(), 1, flags)) == invalid
    for count in (0, 1 << 31):
        assert code(rt.cudaUserObjectCreate(1, function(), count, NO_SYNC)) == invalid
        assert code(rt.cudaUserObjectRetain(item, count)) == invalid
        assert code(rt.cudaUserObjectRelease(item, count)) == invalid
        assert code(rt.cudaGraphRetainUserObject(graph, item, count, 0)) == invalid
        assert code(rt.cudaGraphRetainUserObject(graph, item, count, MOVE)) == invalid
        assert code(rt.cudaGraphReleaseUserObject(graph, item, count)) == invalid
    assert code(rt.cudaUserObjectCreate(1, None, 1, NO_SYNC)) == invalid
    assert code(rt.cudaUserObjectRelease(item, 3)) == invalid
    assert code(rt.cudaGraphRetainUserObject(graph, item, 1, 2)) == invalid
    assert code(rt.cudaGraphRetainUserObject(graph, item, 3, MOVE)) == invalid
    assert code(rt.cudaGraphReleaseUserObject(graph, item, 1)) == invalid
    assert code(rt.cudaGraphRetainUserObject(graph, stale, 1, 0)) == invalid
    assert code(rt.cudaGraphRetainUserObject(None, item, 1, 0)) == invalid
    assert destroyed == [6]
    rt.cudaUserObjectRelease(item, 2)
    assert destroyed == [6, 5]
