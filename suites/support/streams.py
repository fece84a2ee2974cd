"""Which stream is current."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from conformance.adapter import Adapter
from conformance.errors import Unsupported


@contextlib.contextmanager
def side_stream(impl: Adapter, stream: Any = None) -> Iterator[Any]:
    """Make a side stream current, ordered after the work before it and before the work after it."""
    side = impl.new_stream() if stream is None else stream
    before = impl.current_stream()
    side.wait_stream(before)
    with impl.stream(side):
        yield side
    before.wait_stream(side)


def need_side_streams(impl: Adapter) -> None:
    """Ask no refusal of a device whose default stream can capture.

    Raises:
        Unsupported: it is one.
    """
    if not impl.needs_side_stream:
        raise Unsupported("the adapter says that the default stream can capture (needs_side_stream)")


@contextlib.contextmanager
def stream_kept(impl: Adapter) -> Iterator[Any]:
    """Give the current stream; make it current again at the end, even if the implementation did not."""
    before = impl.current_stream()
    with impl.stream(before):
        yield before
