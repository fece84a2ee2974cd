"""The calls of a test are noted as they were made, within bounds, and nothing else changes by that."""

from __future__ import annotations

import contextlib
import gc
import inspect
import re
import threading
import warnings
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import reference_impl
from conformance.adapter import Adapter
from conformance.adapters import reference
from conformance.evidence.calls import SLOTS, TEXT_LIMIT, CallRing, read_calls
from conformance.evidence.gathering import Evidence
from conformance.evidence.names import Names
from conformance.evidence.tracing import Tracer
from conformance.session.foreign_warnings import recorded


@contextlib.contextmanager
def traced(adapter: Adapter) -> Iterator[tuple[Tracer, CallRing]]:
    ring = CallRing()
    tracer = Tracer(adapter, ring)
    tracer.on = True
    try:
        yield tracer, ring
    finally:
        tracer.release()


# -- the ring ---------------------------------------------------------------------------------------------------------


def test_a_ring_has_the_last_calls_and_what_came_of_them(tmp_path: Path) -> None:
    ring = CallRing(tmp_path / "calls")
    for number in range(SLOTS + 7):
        ring.end(ring.begin(f"call({number})"), f" -> g{number}")
    open_call = ring.begin("replay()")
    calls = read_calls((tmp_path / "calls").read_bytes())
    assert calls == ring.calls()
    assert calls == [
        *(f"call({number}) -> g{number}" for number in range(8, SLOTS + 7)),
        "replay() (did not return)",
    ]
    ring.end(open_call)
    assert ring.calls()[-1] == "replay()"
    ring.clear()
    assert ring.calls() == []


def test_a_call_that_comes_back_late_spoils_no_other() -> None:
    ring = CallRing()
    slow = ring.begin("slow()")
    for _ in range(SLOTS):
        ring.end(ring.begin("fast()"))
    ring.end(slow, " -> late")
    assert set(ring.calls()) == {"fast()"}


@pytest.mark.parametrize("text", ["x" * 5000, "é" * 5000, "\ud800\x00\n" * 100, "12345"])
def test_each_call_has_an_end(text: str) -> None:
    ring = CallRing()
    ring.end(ring.begin(text), text)
    ring.end(ring.begin("next()"))
    first, second = ring.calls()
    assert 0 < len(first) <= TEXT_LIMIT
    assert second == "next()"


def test_what_is_cut_breaks_no_escape() -> None:
    ring = CallRing()
    for number in range(1, 12):
        ring.end(ring.begin("x" * number + "é" * 50), "…")
    for call in ring.calls():
        assert re.fullmatch(r"x+(\\xe9)+\.{6}", call), call


# -- what is noted ----------------------------------------------------------------------------------------------------


def test_graphs_streams_events_and_pools_have_small_names() -> None:
    adapter = reference.adapter()
    with traced(adapter) as (_, ring):
        token = adapter.graph_pool_handle()
        first, second = adapter.new_stream(), adapter.new_stream()
        event = first.record_event()
        second.wait_event(event)
        graph = adapter.new_graph(keep_graph=True)
        x = adapter.full(5, 1.0)
        with adapter.capture(graph, pool=token, stream=first):
            x.add_(1)
        assert graph.pool() == token
        graph.replay()
        adapter.current_stream()
        adapter.raw_graph(graph)
        adapter.read(x)
    assert [call for call in ring.calls() if not call.startswith(" ")] == [
        "adapter.graph_pool_handle() -> p0",
        "adapter.new_stream() -> s0",
        "adapter.new_stream() -> s1",
        "s0.record_event() -> e0",
        "s1.wait_event(e0)",
        "adapter.new_graph(keep_graph=True) -> g0",
        "adapter.capture(g0, pool=p0, stream=s0)",
        "g0.capture_begin(pool=p0, capture_error_mode='global', check_input_liveness=False)",
        "end of adapter.capture(g0, pool=p0, stream=s0)",
        "g0.pool() -> p0",
        "g0.replay()",
        "adapter.current_stream() -> s2",
        "adapter.raw_graph(g0) -> address",
        "adapter.read(tensor) -> tensor",
    ]
    assert "  g0.capture_end()" in ring.calls()


def test_what_a_call_raised_is_noted() -> None:
    adapter = reference.adapter()
    graph = adapter.new_graph()
    with traced(adapter) as (_, ring):
        with pytest.raises(RuntimeError):
            graph.replay()
        with pytest.raises(TypeError):
            adapter.new_graph(wrong=1)  # type: ignore[call-arg]
    first, second = ring.calls()
    assert first.startswith("g0.replay() raised GraphError: ")
    assert second.startswith("adapter.new_graph(wrong=1) raised TypeError: ")


def test_calls_of_other_threads_say_so() -> None:
    adapter = reference.adapter()
    with traced(adapter) as (_, ring):
        thread = threading.Thread(target=adapter.synchronize, name="beside")
        thread.start()
        thread.join()
        adapter.synchronize()
    assert ring.calls() == ["[beside] adapter.synchronize()", "adapter.synchronize()"]


def test_nothing_is_kept_alive() -> None:
    adapter = reference.adapter()
    with traced(adapter) as (tracer, _):
        graph = adapter.new_graph()
        token = adapter.new_mem_pool()
        references = [weakref.ref(graph), weakref.ref(token)]
        del graph, token
        gc.collect()
        assert [reference() for reference in references] == [None, None]
        assert list(tracer.names.living_graphs()) == []
        adapter.new_graph()
        assert adapter.new_graph() is not None


def test_a_new_graph_at_the_address_of_an_old_one_has_a_name_of_its_own() -> None:
    class Slotted:
        __slots__ = ()

    class Plain:
        pass

    for cls in (Slotted, Plain):
        names = Names(cls)
        seen = set()
        for _ in range(5):
            graph = cls()
            seen.add(names.graph(graph, is_new=True).name)
            assert names.graph(graph).name in seen
            del graph
        assert len(seen) == 5


def test_objects_that_cannot_be_looked_at_change_nothing() -> None:
    class Odd:
        def __getattr__(self, name: str) -> Any:
            raise KeyError(name)

        def __call__(self) -> None: ...

    adapter = reference.adapter()
    graph = adapter.new_graph()
    with traced(adapter) as (_, ring), pytest.raises((TypeError, RuntimeError, KeyError, AttributeError)):
        graph.capture_begin(Odd())
    assert ring.calls()[0].startswith("g0.capture_begin(Odd) raised ")


def test_states_follow_from_the_calls() -> None:
    adapter = reference.adapter()
    x = adapter.full(5, 1.0)
    with traced(adapter) as (tracer, _):
        graph = adapter.new_graph(True)
        known = tracer.names.graph(graph)
        assert (known.state, known.kept, known.pool) == ("new", True, None)
        with adapter.stream(adapter.new_stream()):
            adapter.capture_begin(graph, pool=adapter.graph_pool_handle())
            assert (known.state, known.pool) == ("capturing", "p0")
            x.add_(1)
            graph.capture_end()
        states = [known.state]
        graph.instantiate()
        states.append(known.state)
        graph.reset()
        assert [*states, known.state] == ["captured", "instantiated", "reset"]


def test_everything_is_as_before_afterwards() -> None:
    adapter = reference.adapter()
    owners = (reference_impl.CUDAGraph, type(adapter.new_stream()), type(adapter.new_event()))
    before, members = [dict(vars(owner)) for owner in owners], adapter.__dict__.keys() - {"_streams"}

    class Own(reference_impl.CUDAGraph):
        pass

    adapter.graph_class = Own
    with traced(adapter):
        assert "replay" in vars(Own)
        adapter.new_stream().record_event()
        assert vars(owners[1])["wait_stream"] is not before[1]["wait_stream"]
    assert adapter.__dict__.keys() - {"_streams"} == members
    assert [dict(vars(owner)) for owner in owners] == before
    assert "replay" not in vars(Own)


def test_implementations_that_share_classes_each_have_their_calls() -> None:
    adapters = {name: reference.adapter() for name in ("one", "two")}
    owners = (reference_impl.CUDAGraph, type(adapters["one"].new_stream()))
    before = [dict(vars(owner)) for owner in owners]
    evidence = Evidence(adapters, CallRing())
    for name in ("one", "two", "one"):
        evidence.clear()
        with evidence.of_test(name):
            adapters[name].new_stream().record_event()
            adapters[name].new_graph().reset()
        assert evidence.calls() == (
            "adapter.new_stream() -> s0",
            "s0.record_event() -> e0",
            "adapter.new_graph() -> g0",
            "g0.reset()",
        )
    evidence.release()
    assert [dict(vars(owner)) for owner in owners] == before


def test_what_somebody_else_has_replaced_stays_replaced() -> None:
    adapter = reference.adapter()

    class Own(reference_impl.CUDAGraph):
        pass

    adapter.graph_class = Own
    with traced(adapter):
        replaced = Own.capture_end
        Own.replay = replaced  # type: ignore[method-assign]
    assert vars(Own)["replay"] is replaced


def test_a_class_that_warns_of_its_caller_means_the_line_that_called_it() -> None:
    class Warns(reference_impl.CUDAGraph):
        def reset(self) -> None:
            warnings.warn("careful", stacklevel=2)

    adapter = reference.adapter()
    adapter.graph_class = Warns
    with traced(adapter), recorded() as entries:
        graph = Warns()
        line = inspect.currentframe().f_lineno + 1  # type: ignore[union-attr]
        graph.reset()
    assert [(entry.filename, entry.lineno) for entry in entries] == [(__file__, line)]


def test_a_class_that_warns_of_itself_means_its_own_line() -> None:
    with recorded() as entries:
        warnings.warn("careful", stacklevel=1)
    assert [entry.filename for entry in entries] == [__file__]
