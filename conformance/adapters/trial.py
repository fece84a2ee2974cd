"""A capture and a replay, small enough to be nearly free: what every test does in one way or another."""

from __future__ import annotations

import contextlib
import traceback
from dataclasses import dataclass
from typing import Any

from conformance.adapter import Adapter
from conformance.errors import Unsupported, one_line

#: What is added to, and what one replay gives.
BEFORE = [3.0] * 7
EXPECTED = [4.0] * 7
_TWICE = [5.0] * 7
_CHARACTERS = 80


@dataclass(frozen=True)
class Trial:
    """What came of it.

    Attributes:
        captured: the values when the capture had ended, as a list.
        replayed: the same after one replay.
        told: whether the adapter said, inside of the capture, that there is one; ``None`` where nothing tells.
    """

    captured: Any
    replayed: Any
    told: bool | None = None

    @property
    def wrong(self) -> str | None:
        """What is wrong with the values, by its cause; ``None`` when nothing is."""
        if (self.captured, self.replayed) == (BEFORE, EXPECTED):
            return None
        captured, replayed = (one_line(str(values), _CHARACTERS) for values in (self.captured, self.replayed))
        return f"{self._cause()}: seven times 3, plus 1, was {captured} after the capture and {replayed} after a replay"

    def _cause(self) -> str:
        values = self.captured, self.replayed
        if values == (BEFORE, BEFORE):
            return "the replay did nothing"
        if values == (BEFORE, _TWICE):
            return "one replay did the work twice"
        if values == (EXPECTED, _TWICE):
            return "the work ran while it was captured, and once more in the replay"
        if values == (EXPECTED, EXPECTED):
            return "the work ran while it was captured, and the replay did nothing"
        if self.captured == BEFORE:
            return "the replay gave wrong values"
        return "the capture changed what it should only record"


def replay(adapter: Adapter) -> Trial:
    """Capture an addition in place, so that the graph's pool is empty, and replay it.

    Raises:
        NotImplementedError: the adapter has no means to.
        Unsupported: the device has no stream left for it.
    """
    x, graph, before, side = (
        adapter.full(7, 3.0),
        adapter.new_graph(),
        adapter.current_stream(),
        adapter.capture_stream(),
    )
    side.wait_stream(before)
    with adapter.stream(side):
        adapter.capture_begin(graph)
        try:
            told = _told(adapter)
            x.add_(1.0)
        except Exception:
            adapter.abort_capture(graph)
            raise
        graph.capture_end()
        captured = adapter.read(x).tolist()
        graph.replay()
    before.wait_stream(side)
    return Trial(captured, adapter.read(x).tolist(), told)


def replay_through_the_context(adapter: Adapter) -> Trial:
    """The same through the context manager."""
    x, graph, before, side = (
        adapter.full(7, 3.0),
        adapter.new_graph(),
        adapter.current_stream(),
        adapter.capture_stream(),
    )
    side.wait_stream(before)
    with adapter.capture(graph, stream=side):
        told = _told(adapter)
        x.add_(1.0)
    captured = adapter.read(x).tolist()
    graph.replay()
    return Trial(captured, adapter.read(x).tolist(), told)


def _told(adapter: Adapter) -> bool | None:
    with contextlib.suppress(Exception, Unsupported):  # what is wrong with asking is told where that is all
        return bool(adapter.is_current_stream_capturing())
    return None


def step(error: BaseException) -> str:
    """The line of the small program that raised `error`."""
    lines = [frame.line for frame in traceback.extract_tb(error.__traceback__) if frame.filename == __file__]
    return f"`{lines[0]}`" if lines else "a small capture"
