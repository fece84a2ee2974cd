"""Which modes a capture takes, and what is left of one that is not taken."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect, expect_raises
from conformance.markers import requirement
from suites.error_modes.programs import every_mode
from suites.support.captures import open_capture
from suites.support.outcomes import caught, in_words
from suites.support.recovery import expect_capture, expect_eager_work
from suites.support.streams import stream_kept

WRONG = (RuntimeError, TypeError, ValueError)
unknown_mode = pytest.mark.parametrize(
    "mode",
    [
        pytest.param("bogus", id="bogus"),
        pytest.param("", id="empty"),
        pytest.param("globally", id="longer-name"),
    ],
)


def begin_and_end(impl: Adapter, graph: Any, stream: Any = None, **settings: Any) -> None:
    """A capture of nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an empty capture may be warned of
        with open_capture(impl, graph, stream=stream, **settings):
            graph.capture_end()


@requirement("error-modes.documented-modes-accepted")
@every_mode
def test_documented_mode(impl: Adapter, mode: str) -> None:
    """A capture in each documented mode replays its work."""
    expect_capture(impl, impl.new_graph(), f"capture_error_mode={mode!r} captures", mode=mode)


@requirement("error-modes.accelerator-default-accepted")
@pytest.mark.parametrize("mode", [pytest.param(None, id="left-out"), pytest.param("default", id="given")])
def test_accelerator_default(impl: Adapter, mode: str | None) -> None:
    """The default mode captures, named or not."""
    expect_capture(impl, impl.new_graph(mode=mode), "capture_error_mode='default' captures")


@requirement("error-modes.accelerator-other-modes")
@every_mode
def test_accelerator_other_mode(impl: Adapter, mode: str, observe: Any) -> None:
    """What the backend does with a mode other than the default."""

    def run() -> None:
        expect_capture(impl, impl.new_graph(mode=mode), f"capture_error_mode={mode!r} captures")

    with warnings.catch_warnings(record=True) as caught_warnings:
        warnings.simplefilter("always")
        error = caught(run)
    if error is not None:
        observe(mode, f"refused: {in_words(error)}")
    else:
        observe(mode, f"warned: {caught_warnings[0].message}" if caught_warnings else "accepted")


@requirement("error-modes.unknown-refused")
@unknown_mode
def test_unknown_refused(impl: Adapter, mode: str) -> None:
    """A name that is not among the documented ones begins no capture."""

    def construct_and_capture() -> None:
        graph, settings = impl.graph_for(mode=mode)
        begin_and_end(impl, graph, **settings)

    expect_raises(f"capture_error_mode={mode!r} is refused", construct_and_capture, WRONG)


@requirement("error-modes.unknown-refused")
def test_unknown_refused_by_context(impl: Adapter) -> None:
    """The context manager refuses an unknown mode as well."""
    tensor = impl.full(5, 1.0)

    def capture() -> None:
        graph, settings = impl.graph_for(mode="bogus")
        with impl.capture(graph, **settings):
            tensor.add_(1)

    with stream_kept(impl):
        expect_raises("the context manager refuses capture_error_mode='bogus'", capture, WRONG)


@requirement("error-modes.wrong-type-refused")
@pytest.mark.parametrize("mode", [pytest.param(1, id="number"), pytest.param(["global"], id="list")])
def test_wrong_type(impl: Adapter, mode: Any) -> None:
    """A mode that is no string begins no capture."""

    def construct_and_capture() -> None:
        graph, settings = impl.graph_for(mode=mode)
        begin_and_end(impl, graph, **settings)

    expect_raises(f"capture_error_mode={mode!r} is refused", construct_and_capture, WRONG)


@requirement("error-modes.unknown-leaves-stream")
def test_unknown_leaves_stream(impl: Adapter) -> None:
    """The stream of the refused capture captures nothing and works."""
    stream = impl.new_stream()
    graphs: list[Any] = []

    def begin() -> None:
        graph, settings = impl.graph_for(mode="bogus")
        graphs.append(graph)
        impl.capture_begin(graph, **settings)

    with impl.stream(stream):
        caught(begin)
        capturing = impl.is_current_stream_capturing()
        if capturing:
            impl.abort_capture(graphs[0])
    expect(not capturing, "a capture that was refused for its mode did not begin", "the stream is capturing")
    expect_eager_work(impl, stream, "after a capture was refused for its mode the stream runs ordinary work")


@requirement("error-modes.unknown-leaves-graph")
def test_unknown_leaves_graph(impl: Adapter) -> None:
    """The graph captures at the next attempt."""
    graph, stream = impl.new_graph(), impl.new_stream()
    caught(lambda: begin_and_end(impl, graph, stream, mode="bogus"))
    promise = "a graph whose capture was refused for its mode captures with a known one"
    expect_capture(impl, graph, promise, stream=stream, mode="global")
