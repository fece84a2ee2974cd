"""The vendor's graph class and its context manager, with the names and the arguments of ``torch.cuda``."""

from __future__ import annotations

import contextlib
import warnings
from types import TracebackType
from typing import ClassVar

from vendor_device import streams
from vendor_device.recorder import CaptureError, Recorder


class VendorGraph:
    """Work captured on one stream, to be replayed as often as one likes."""

    # Of the class, because a graph whose constructor was refused is deleted, too.
    _recorder: Recorder | None = None
    _captured: Recorder | None = None
    _stream: streams.Stream | None = None

    def capture_begin(self) -> None:
        """Begin a capture on the current stream.

        Raises:
            CaptureError: it is the default stream or captures already, or the graph has a capture.
        """
        stream = streams.current_stream()
        if self._recorder is not None or self._captured is not None:
            raise CaptureError("capture_begin(): this graph has a capture already; call reset() first")
        if stream is streams.default_stream():
            raise CaptureError("capture_begin(): the default stream cannot capture; make another one current")
        if stream.capture is not None:
            raise CaptureError("capture_begin(): this stream captures already; end that capture first")
        self._stream, self._recorder = stream, Recorder(lambda: streams.current_stream() is stream)
        stream.capture = self._recorder
        self._recorder.enter()

    def capture_end(self) -> None:
        """End the capture; from then on the graph can be replayed.

        Raises:
            CaptureError: there is none, another stream is current, or the capture was spoiled.
        """
        if self._recorder is None:
            raise CaptureError("capture_end(): this graph is not capturing; call capture_begin() first")
        if streams.current_stream() is not self._stream:
            raise CaptureError("capture_end(): the capture began on another stream; make that one current")
        recorder = self._leave()
        if recorder.error is not None:
            raise CaptureError("capture_end(): the capture failed before its end") from recorder.error
        if not recorder.nodes:
            warnings.warn("the graph is empty: nothing was captured", stacklevel=2)
        self._captured = recorder

    def replay(self) -> None:
        """Run the captured work again.

        Raises:
            CaptureError: nothing was captured, or the current stream captures.
        """
        if self._captured is None:
            raise CaptureError("replay(): nothing was captured; capture_begin() and capture_end() come first")
        if streams.is_current_stream_capturing():
            raise CaptureError("replay(): the current stream captures; end that capture first")
        self._captured.replay()

    def reset(self) -> None:
        """Forget the captured work, and end a capture that is underway."""
        if self._recorder is not None:
            self._leave()
        self._captured = None

    def __del__(self) -> None:
        self.reset()

    def _leave(self) -> Recorder:
        recorder, stream = self._recorder, self._stream
        assert recorder is not None
        assert stream is not None
        recorder.leave()
        stream.capture = None
        self._recorder = self._stream = None
        return recorder


class graph:  # noqa: N801  # torch.cuda's name
    """Capture a block into `captured`, on `stream` or on one that all such blocks share."""

    default_capture_stream: ClassVar[streams.Stream | None] = None

    def __init__(self, captured: VendorGraph, stream: streams.Stream | None = None) -> None:
        if graph.default_capture_stream is None:
            graph.default_capture_stream = streams.Stream()
        self._captured = captured
        self._current = streams.stream(stream or graph.default_capture_stream)

    def __enter__(self) -> None:
        with contextlib.ExitStack() as undo:
            undo.enter_context(self._current)
            self._captured.capture_begin()
            undo.pop_all()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with contextlib.ExitStack() as undo:
            undo.push(self._current)
            self._captured.capture_end()
