"""What must work as before after a capture that went wrong."""

from __future__ import annotations

from typing import Any

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_no_raise, is_refusal
from suites.support.captures import open_capture
from suites.support.programs import SIZE, Affine
from suites.support.streams import side_stream


def expect_eager_work(impl: Adapter, stream: Any, promise: str) -> None:
    """Reject unless ordinary work on `stream` runs at once and gives the right values."""
    tensor = impl.full(SIZE, 4.0)

    def work() -> None:
        with side_stream(impl, stream):
            tensor.mul_(2).add_(1)

    expect_no_raise(promise, work)
    expect_equal(impl, tensor, 9.0, promise)


def expect_capture(impl: Adapter, graph: Any, promise: str, *, stream: Any = None, **settings: Any) -> Affine:
    """Reject unless `graph` captures a new program on `stream` and replays it; return the program."""
    program = Affine(impl, factor=5.0)

    def capture() -> None:
        with open_capture(impl, graph, stream=stream, **settings):
            program.body()
            graph.capture_end()

    expect_no_raise(promise, capture)
    program.check(impl, graph, promise)
    return program


def expect_no_pool_or_a_usable_one(impl: Adapter, graph: Any) -> None:
    """Reject unless pool() of a graph that holds no capture is refused, or gives what another capture can use."""
    promise = "pool() of a graph that holds no capture is refused, or gives a token that another capture can use"
    try:
        token = graph.pool()
    except Exception as error:
        expect(is_refusal(error), promise, f"{type(error).__name__}: {error}")
        return
    expect(token is not None, promise, "pool() returned None")
    other, settings = impl.graph_for(pool=token)
    expect_capture(impl, other, promise, **settings)
