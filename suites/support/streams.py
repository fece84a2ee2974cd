"""Which stream is current."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from conformance.adapter import Adapter
from conformance.checks import NotConforming, expect_raises
from suites.support.outcomes import caught


@contextlib.contextmanager
def side_stream(impl: Adapter, stream: Any = None) -> Iterator[Any]:
    """Make a side stream current, ordered after the work before it and before the work after it."""
    side = impl.capture_stream() if stream is None else stream
    before = impl.current_stream()
    side.wait_stream(before)
    with impl.stream(side):
        yield side
    before.wait_stream(side)


@contextlib.contextmanager
def stream_kept(impl: Adapter) -> Iterator[Any]:
    """Give the current stream; make it current again at the end, even if the implementation did not."""
    before = impl.current_stream()
    with impl.stream(before):
        yield before


def begin_on_the_default_stream(impl: Adapter, graph: Any) -> BaseException | None:
    """Begin a capture of `graph` with the default stream current; what refused it, or ``None``: then it is underway.

    Rejects a device that lets it pass although its adapter says that a capture needs a side stream.
    """
    with impl.stream(impl.default_stream()):
        if not impl.needs_side_stream:
            return caught(lambda: impl.capture_begin(graph))
        try:
            refusal = expect_raises(
                "capture_begin on the default stream is refused where a capture needs a side stream",
                lambda: impl.capture_begin(graph),
            )
        except NotConforming:
            impl.abort_capture(graph)
            raise
    return refusal.with_traceback(None)
