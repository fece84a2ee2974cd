"""Who still uses a stream: devices hand the same few out again and again."""

from __future__ import annotations

import functools
import gc
import sys
from collections.abc import Sequence
from typing import Any

from conformance.errors import Unsupported

#: As many as torch.cuda and torch.xpu have for each priority.
_STREAMS_IN_A_POOL = 32


class StreamsInUse:
    """The part of an adapter that finds streams which nothing else uses.

    Attributes:
        module: that makes streams, from a pool in turn, even ones still in use.
    """

    module: Any

    @functools.cached_property
    def _streams(self) -> list[Any]:
        return []

    @functools.cached_property
    def _earlier_streams(self) -> list[Any]:
        return []

    def is_current_stream_capturing(self) -> bool:
        """Whether a capture is underway."""
        raise NotImplementedError

    def _unused_stream(self) -> Any:
        stream = self._stream_besides_earlier()
        # Cycles may be all that keeps the others; but what is collected inside a capture may disturb it.
        if stream is None and not self.is_current_stream_capturing():
            gc.collect()
            stream = self._stream_besides_earlier()
        if stream is None:
            # What an earlier test left behind is no reason to go without.
            stream = self._stream_besides(self._streams)
        if stream is None:
            raise Unsupported(f"the device has no streams besides the {len(self._streams)} that the test uses already")
        self._streams.append(stream)
        return stream

    def _stream_besides_earlier(self) -> Any:
        self._streams = _referenced_elsewhere(self._streams)
        self._earlier_streams = _referenced_elsewhere(self._earlier_streams)
        return self._stream_besides([*self._streams, *self._earlier_streams])

    def _stream_besides(self, streams: Sequence[Any]) -> Any:
        # The stream of a capture that names none; torch keeps it there, and so do backends that copied its class.
        streams_in_use = [*streams, getattr(getattr(self.module, "graph", None), "default_capture_stream", None)]
        for _ in range(_STREAMS_IN_A_POOL + 1):
            stream = self.module.Stream()
            if stream not in streams_in_use:
                return stream
        return None

    def _let_go_of_streams(self) -> None:
        """The next test may have them, as far as this one keeps no hold of them."""
        streams = [*self._earlier_streams, *self._streams]
        self._streams, self._earlier_streams = [], []  # which refer to each of them, too
        self._earlier_streams = _referenced_elsewhere(streams)


def _referenced_elsewhere(things: Sequence[Any]) -> list[Any]:
    """Those of `things` that something besides this list still refers to.

    Weak references cannot tell: torch 2.11 does not clear those to its streams, and crashes when one that outlived
    its stream is asked.
    """
    # Here a list holds each of them once more, and the new object alone.
    alone, *counts = [sys.getrefcount(thing) for thing in [object(), *things]]
    return [thing for thing, count in zip(things, counts, strict=True) if count > alone + 1]
