"""The examples of the document, as they are written there; that of debug_dump stands with the other dumps."""

from __future__ import annotations

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_no_raise
from conformance.markers import requirement
from suites.support.captures import replay
from suites.support.streams import side_stream


@requirement("accelerator.document-example")
@pytest.mark.parametrize("replays", [1, 3])
def test_stream_and_graph_in_one_statement(impl: Adapter, replays: int) -> None:
    """The block captures on the stream that the with statement names; replays on the default stream do its work."""
    x = impl.full(2000, 0.0)
    stream = impl.new_stream()
    stream.wait_stream(impl.current_stream())
    graph = impl.graph_class()
    before = impl.current_stream()
    with stream, graph:  # type: ignore[attr-defined]  # torch's streams are context managers
        inside, capturing = impl.current_stream(), impl.is_current_stream_capturing()
        x += 1
    expect(inside == stream and capturing, "the block captures on the given stream", f"{inside!r}: {capturing}")
    expect(impl.current_stream() == before, "the stream from before is current again", f"{impl.current_stream()!r} is")
    expect_equal(impl, x, 0.0, "a capture runs nothing")
    for _ in range(replays):
        graph.replay()
    expect_equal(impl, x, float(replays), "each replay adds one to each of the 2000 elements")


@requirement("accelerator.pool-example")
def test_pool_of_one_graph_for_another(impl: Adapter) -> None:
    """The first graph captures between the two calls; its token goes to the second one's constructor."""
    x = impl.full(37, 0.0)
    first = impl.graph_class()
    with side_stream(impl):
        first.capture_begin()
        y = x + 1
        first.capture_end()
    token = first.pool()
    second = expect_no_raise("the constructor takes another graph's token", lambda: impl.graph_class(pool=token))
    with side_stream(impl):
        second.capture_begin()
        z = y * 2
        second.capture_end()
    for value in (3.0, -4.0, 9.0):
        x.fill_(value)
        y.fill_(-1.0)
        z.fill_(-1.0)
        replay(impl, first)
        replay(impl, second)
        expect_equal(impl, y, value + 1, "the first graph does its work")
        expect_equal(impl, z, (value + 1) * 2, "the graph that was given the first one's pool does its work")
