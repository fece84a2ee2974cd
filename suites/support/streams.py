"""Which stream is current."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from conformance.adapter import Adapter


@contextlib.contextmanager
def side_stream(impl: Adapter, stream: Any = None) -> Iterator[Any]:
    """Make a side stream current, ordered after the work before it and before the work after it."""
    side = impl.new_stream() if stream is None else stream
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
