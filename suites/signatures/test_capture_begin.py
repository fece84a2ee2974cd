"""What capture_begin takes, in each dialect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_no_raise, expect_raises
from conformance.markers import needs, requirement
from suites.signatures.programs import BY_KEYWORD, EITHER, expect_parameter, parameters_of
from suites.support.captures import captured, replay
from suites.support.modes import need_global_default, unsafe
from suites.support.outcomes import caught, in_words
from suites.support.streams import side_stream


def _expect_captures(impl: Adapter, promise: str, begin: Callable[[Any], Any]) -> None:
    """Reject unless a capture begun by `begin` records and replays."""
    x = impl.full(37, 0.0)
    graph = impl.new_graph()
    with side_stream(impl):
        expect_no_raise(promise, lambda: begin(graph))
        try:
            x.add_(1.0)
            graph.capture_end()
        except BaseException:
            impl.abort_capture(graph)
            raise
    replay(impl, graph, times=3)
    expect_equal(impl, x, 3.0, f"{promise}, and the graph replays")


def _expect_refused(impl: Adapter, promise: str, begin: Callable[[Any], Any]) -> None:
    """Reject unless `begin` raises and leaves no capture open."""
    graph = impl.new_graph()
    with side_stream(impl):
        try:
            expect_raises(promise, lambda: begin(graph))
            expect(not impl.is_current_stream_capturing(), "a refused capture_begin begins nothing", "it began")
        except BaseException:
            impl.abort_capture(graph)
            raise


@pytest.mark.parametrize("way", ["position", "keyword"])
@pytest.mark.parametrize("origin", ["graph", "handle", "none"])
@requirement("signatures.capture-begin-pool")
def test_pool(impl: Adapter, origin: str, way: str) -> None:
    """The pool comes first, by position or keyword: a token of either origin, or None."""
    expect_parameter(impl.new_graph().capture_begin, "capture_begin", "pool", default=None, position=0)
    x = impl.full(37, 0.0)
    holder, _ = captured(impl, lambda: x + 1.0)
    token = {"graph": holder.pool, "handle": impl.graph_pool_handle, "none": lambda: None}[origin]()
    begins = {
        "position": lambda graph: graph.capture_begin(token),
        "keyword": lambda graph: graph.capture_begin(pool=token),
    }
    _expect_captures(impl, f"capture_begin takes pool by {way}", begins[way])


@pytest.mark.parametrize(
    ("way", "mode"),
    [("keyword", "global"), ("keyword", "thread_local"), ("keyword", "relaxed"), ("position", "thread_local")],
)
@requirement("signatures.capture-begin-mode")
def test_mode(impl: Adapter, way: str, mode: str) -> None:
    """capture_error_mode comes second, by position or keyword."""
    begin, usual = impl.new_graph().capture_begin, impl.default_mode
    expect_parameter(begin, "capture_begin", "capture_error_mode", default=usual, position=1)
    begins = {
        "position": lambda graph: graph.capture_begin(None, mode),
        "keyword": lambda graph: graph.capture_begin(capture_error_mode=mode),
    }
    _expect_captures(impl, f"capture_begin takes capture_error_mode by {way}", begins[way])
    need_global_default(impl)


@pytest.mark.parametrize("mode", ["global", "relaxed"])
@requirement("signatures.capture-begin-mode")
@needs("raw_allocation")
def test_mode_by_position_is_used(impl: Adapter, mode: str) -> None:
    """A mode that comes second decides about an unsafe call."""
    tensor, graph, call = impl.full(37, 0.0), impl.new_graph(), unsafe(impl)
    with side_stream(impl):
        graph.capture_begin(None, mode)
        try:
            tensor.add_(1.0)
            refusal = caught(call)
        finally:
            caught(graph.capture_end)  # a refused call may have spoiled the capture
            if impl.is_current_stream_capturing():
                impl.abort_capture(graph)
    allowed = refusal is None
    promise = f"the mode {mode!r}, given by position, is that of the capture"
    expect(allowed == (mode == "relaxed"), promise, f"an unsafe call of the capturing thread: {in_words(refusal)}")


@pytest.mark.parametrize("switch", ["off", "on"])
@requirement("signatures.capture-begin-liveness")
def test_liveness(impl: Adapter, switch: str) -> None:
    """check_input_liveness is taken by keyword."""
    expect_parameter(
        impl.new_graph().capture_begin,
        "capture_begin",
        "check_input_liveness",
        default=False,
        kinds=(*EITHER, *BY_KEYWORD),
    )
    _expect_captures(
        impl,
        "capture_begin takes check_input_liveness",
        lambda graph: graph.capture_begin(check_input_liveness=switch == "on"),
    )


@requirement("signatures.capture-begin-bare")
def test_bare(impl: Adapter) -> None:
    """The accelerator class needs nothing at the beginning of a capture."""
    required = [one for one in parameters_of(impl.new_graph().capture_begin) or () if one.default is one.empty]
    expect(not required, "capture_begin needs no argument", f"its parameters are {required}")
    _expect_captures(impl, "capture_begin needs no argument", lambda graph: graph.capture_begin())


@pytest.mark.parametrize("name", ["pool", "capture_error_mode"])
@requirement("signatures.settings-at-begin-refused")
def test_settings_are_the_constructors(impl: Adapter, name: str) -> None:
    """The accelerator class's capture_begin refuses pool and capture_error_mode."""
    value = {"pool": None, "capture_error_mode": "default"}[name]
    _expect_refused(impl, f"capture_begin does not take {name}", lambda graph: graph.capture_begin(**{name: value}))


@requirement("signatures.unknown-arguments-refused")
def test_unknown_argument(impl: Adapter) -> None:
    """An argument that is not documented is refused before anything begins."""
    _expect_refused(
        impl, "capture_begin refuses an unknown argument", lambda graph: graph.capture_begin(no_such_argument=True)
    )
