"""What the reference does at the end of a capture's life: callbacks, retained objects, and the wait before them."""

from __future__ import annotations

import gc
import logging
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import reference_impl as ref


class Thing:
    """Something whose end can be seen."""


def captured() -> tuple[ref.CUDAGraph, Any]:
    """A graph that adds one to a tensor, and the tensor."""
    x, graph = ref.tensor([1.0, 2.0]), ref.CUDAGraph()
    with ref.graph(graph):
        x.add_(1)
    return graph, x


def end_by_reset(graphs: list[ref.CUDAGraph]) -> None:
    graphs.pop().reset()


def end_by_collection(graphs: list[ref.CUDAGraph]) -> None:
    graphs.pop()
    gc.collect()


endings = pytest.mark.parametrize("end", [end_by_reset, end_by_collection])


@endings
def test_callbacks_run_once_in_order_and_objects_go_after_them(end: Callable[[list[ref.CUDAGraph]], None]) -> None:
    ran: list[str] = []
    thing = Thing()
    weakref.finalize(thing, ran.append, "object")
    graph, _ = captured()
    graph.retain_object(thing)
    del thing
    for name in ("first", "second"):
        graph.register_destroy_callback(cb=lambda name=name: ran.append(name))
    gc.collect()
    assert ran == []
    graphs = [graph]
    del graph
    end(graphs)
    assert ran == ["first", "second", "object"]


def test_a_reset_graph_starts_afresh() -> None:
    ran: list[int] = []
    graph, x = captured()
    graph.register_destroy_callback(lambda: ran.append(1))
    graph.reset()
    graph.reset()
    with ref.graph(graph):
        x.mul_(2)
    graph.register_destroy_callback(lambda: ran.append(2))
    del graph
    gc.collect()
    assert ran == [1, 2]


def test_handles_take_callbacks_out_and_let_objects_go() -> None:
    ran: list[str] = []
    graph, _ = captured()
    handle = graph.register_destroy_callback(lambda: ran.append("removed"))
    with graph.register_destroy_callback(lambda: ran.append("left")):
        pass
    graph.register_destroy_callback(lambda: ran.append("stays"))
    thing = Thing()
    dead = weakref.ref(thing)
    retained = graph.retain_object(thing)
    del thing
    handle.remove()
    handle.remove()
    assert dead() is not None
    retained.remove()
    assert dead() is None
    graph.reset()
    assert ran == ["stays"]
    retained.remove()


def test_an_exception_in_a_callback_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    ran: list[str] = []

    def failing() -> None:
        raise LookupError("from the callback")

    graph, _ = captured()
    graph.register_destroy_callback(failing)
    graph.register_destroy_callback(lambda: ran.append("after"))
    with caplog.at_level(logging.ERROR):
        graph.reset()
    assert ran == ["after"]
    assert "destroy callback" in caplog.text


def test_what_cannot_be_called_is_refused() -> None:
    graph, _ = captured()
    with pytest.raises(TypeError, match="must be callable"):
        graph.register_destroy_callback("callback")  # type: ignore[arg-type]


@endings
def test_waits_for_the_streams_of_its_replays(end: Callable[[list[ref.CUDAGraph]], None]) -> None:
    done: list[list[bool]] = []
    with ref.session(3):
        graph, _ = captured()
        streams, other = [ref.Stream() for _ in range(2)], ref.Stream()
        y = ref.tensor([1.0])
        graph.register_destroy_callback(
            lambda: done.append([stream.query() for stream in streams]), synchronize_before_release=True
        )
        graph.retain_object(Thing(), synchronize_before_release=True)
        ref.synchronize()
        for stream in streams:
            with ref.stream(stream):
                graph.replay()
        with ref.stream(other):
            y.add_(1)
        graphs = [graph]
        del graph
        end(graphs)
        assert done == [[True, True]]
        assert y.numpy().tolist() == [1.0]  # the bytes as they are now: nobody waited for that stream


@endings
def test_another_capture_is_not_spoiled(
    end: Callable[[list[ref.CUDAGraph]], None], caplog: pytest.LogCaptureFixture
) -> None:
    ran: list[str] = []
    graph, x = captured()
    graph.register_destroy_callback(lambda: ran.append("callback"), synchronize_before_release=True)
    replayed_on = ref.Stream()
    with ref.stream(replayed_on):
        graph.replay()
    graphs, other = [graph], ref.CUDAGraph()
    del graph
    with caplog.at_level(logging.ERROR), ref.graph(other):
        x.mul_(3)
        end(graphs)
        x.add_(10)
    assert (ran, caplog.text) == (["callback"], "")
    other.replay()
    assert x.tolist() == [16.0, 19.0]


def test_a_capture_on_the_stream_of_a_replay_is_not_spoiled(caplog: pytest.LogCaptureFixture) -> None:
    graph, x = captured()
    graph.retain_object(Thing(), synchronize_before_release=True)
    stream, other = ref.Stream(), ref.CUDAGraph()
    with ref.stream(stream):
        graph.replay()
    with caplog.at_level(logging.ERROR), ref.graph(other, stream=stream):
        x.mul_(3)
        graph.reset()
    assert "waiting would spoil that" in caplog.text
    other.replay()
    assert x.tolist() == [6.0, 9.0]


def test_a_capture_of_another_thread_is_not_spoiled() -> None:
    graph, x = captured()
    graph.retain_object(Thing(), synchronize_before_release=True)
    graph.replay()
    other = ref.CUDAGraph()
    with ref.graph(other):
        thread = threading.Thread(target=graph.reset)
        thread.start()
        thread.join()
        x.mul_(3)
    other.replay()
    assert x.tolist() == [6.0, 9.0]
