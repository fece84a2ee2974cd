"""Which modes a capture takes, and what is left of one that is not taken."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect, is_refusal
from conformance.markers import requirement
from suites.error_modes.programs import every_mode
from suites.support.captures import open_capture
from suites.support.outcomes import caught, in_words
from suites.support.recovery import expect_capture, expect_eager_work
from suites.support.streams import stream_kept

unknown_mode = pytest.mark.parametrize(
    "mode",
    [
        pytest.param("bogus", id="bogus"),
        pytest.param("", id="empty"),
        pytest.param("globally", id="longer-name"),
    ],
)


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


def expect_not_taken(impl: Adapter, mode: Any, capture: Callable[[], Any]) -> None:
    """Reject unless `capture` in `mode` is refused, or an accelerator's backend warns of what it makes of the mode."""
    with warnings.catch_warnings(record=True) as caught_warnings:
        warnings.simplefilter("always")
        error = caught(capture)
    if impl.dialect == "accelerator" and error is None:
        expect(bool(caught_warnings), f"capture_error_mode={mode!r} is refused or warned of", "no error, no warning")
        return
    expect(is_refusal(error), f"capture_error_mode={mode!r} is refused", in_words(error))


def capture_in(impl: Adapter, mode: Any) -> None:
    """A capture in `mode` between the two calls."""
    tensor = impl.full(5, 1.0)
    graph, settings = impl.graph_for(mode=mode)
    with open_capture(impl, graph, **settings):
        tensor.add_(1)
        graph.capture_end()


@requirement("error-modes.unknown-refused")
@unknown_mode
def test_unknown_refused(impl: Adapter, mode: str) -> None:
    """A name that is not among the documented ones begins no capture."""
    expect_not_taken(impl, mode, lambda: capture_in(impl, mode))


@requirement("error-modes.unknown-refused")
def test_unknown_refused_by_context(impl: Adapter) -> None:
    """The context manager refuses an unknown mode as well."""
    tensor = impl.full(5, 1.0)

    def capture() -> None:
        graph, settings = impl.graph_for(mode="bogus")
        with impl.capture(graph, **settings):
            tensor.add_(1)

    with stream_kept(impl):
        expect_not_taken(impl, "bogus", capture)


@requirement("error-modes.wrong-type-refused")
@pytest.mark.parametrize("mode", [pytest.param(1, id="number"), pytest.param(["global"], id="list")])
def test_wrong_type(impl: Adapter, mode: Any) -> None:
    """A mode that is no string begins no capture."""
    expect_not_taken(impl, mode, lambda: capture_in(impl, mode))


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
        refused = caught(begin) is not None
        capturing = impl.is_current_stream_capturing()
        if capturing:
            impl.abort_capture(graphs[0])
    # That a mode was taken is another requirement's.
    promise = "a capture that was refused for its mode did not begin"
    expect(not (refused and capturing), promise, "the stream is capturing")
    expect_eager_work(impl, stream, "after a capture was refused for its mode the stream runs ordinary work")


@requirement("error-modes.unknown-leaves-graph")
def test_unknown_leaves_graph(impl: Adapter) -> None:
    """The graph captures at the next attempt."""
    graph, stream, tensor = impl.new_graph(), impl.new_stream(), impl.full(5, 1.0)

    def capture() -> None:
        with open_capture(impl, graph, stream=stream, mode="bogus"):
            tensor.add_(1)
            graph.capture_end()

    if caught(capture) is None:  # the mode was taken, which is another requirement's
        return
    promise = "a graph whose capture was refused for its mode captures with a known one"
    expect_capture(impl, graph, promise, stream=stream, mode="global")
