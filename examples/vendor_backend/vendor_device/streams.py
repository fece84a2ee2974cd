"""Streams and events of a device that does all work at once."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Iterator

from vendor_device.recorder import Recorder


class Event:
    """A point in a stream's work.  The work before it is always done."""

    def record(self, stream: Stream | None = None) -> None:
        """Mark the end of what `stream` was given so far."""

    def wait(self, stream: Stream | None = None) -> None:
        """Let `stream` wait for the event."""

    def query(self) -> bool:
        """Whether the work before it is done."""
        return True

    def synchronize(self) -> None:
        """Wait for it on the host."""


class Stream:
    """A queue of work that is always empty.

    Attributes:
        capture: what records the capture that is underway on it, or `None`.
    """

    def __init__(self) -> None:
        self.capture: Recorder | None = None
        _streams.add(self)

    def wait_stream(self, stream: Stream) -> None:
        """Wait for what `stream` was given so far."""

    def wait_event(self, event: Event) -> None:
        """Wait for `event`."""

    def record_event(self, event: Event | None = None) -> Event:
        """Record `event`, or a new one."""
        return event or Event()

    def query(self) -> bool:
        """Whether all work is done."""
        return True

    def synchronize(self) -> None:
        """Wait for all work on the host.

        Raises:
            CaptureError: the stream is capturing, and its capture fails.
        """
        if self.capture is not None:
            self.capture.spoil("synchronize() is not permitted when the stream is capturing")


_streams: weakref.WeakSet[Stream] = weakref.WeakSet()
_DEFAULT = Stream()
_current = threading.local()


def default_stream() -> Stream:
    """The stream that is current where no other is."""
    return _DEFAULT


def current_stream() -> Stream:
    """The calling thread's stream."""
    stream: Stream = getattr(_current, "stream", _DEFAULT)
    return stream


@contextlib.contextmanager
def stream(stream: Stream) -> Iterator[None]:
    """Make `stream` current inside the block, the previous one afterwards."""
    before, _current.stream = current_stream(), stream
    try:
        yield
    finally:
        _current.stream = before


def is_current_stream_capturing() -> bool:
    """Whether a capture is underway on the current stream."""
    return current_stream().capture is not None


def synchronize() -> None:
    """Wait for all work of the device, as `Stream.synchronize` does for each stream."""
    for each in list(_streams):
        each.synchronize()
