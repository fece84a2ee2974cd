"""Ways to spoil a capture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.adapter import Adapter
from suites.support.disturbances import Attempt, attempt, device_synchronize, host_read
from suites.support.programs import SIZE
from suites.support.streams import side_stream

#: Given the implementation, does what must be done outside the capture and returns what is to be done inside.
Spoiler = Callable[[Adapter], Callable[[], Any]]


def stream_synchronize(impl: Adapter) -> Callable[[], Any]:
    """Wait for the stream that captures."""
    return lambda: impl.current_stream().synchronize()


def unjoined_fork(impl: Adapter) -> Callable[[], Any]:
    """Fork work to a second stream and never join it."""
    fork = impl.new_stream()
    tensor = impl.full(SIZE, 1.0)

    def act() -> None:
        fork.wait_stream(impl.current_stream())
        with impl.stream(fork):
            tensor.add_(1)

    return act


def foreign_event(impl: Adapter) -> Callable[[], Any]:
    """Wait for work of another stream that is no part of the capture."""
    tensor = impl.full(SIZE, 1.0)
    event = impl.new_event()
    with side_stream(impl) as outside:
        tensor.add_(1)
        event.record(outside)
    return lambda: impl.current_stream().wait_event(event)


#: Spoilers that need nothing but a device, and those that need work on several streams to be captured.
BASIC: dict[str, Spoiler] = {
    "host-read": host_read,
    "device-synchronize": device_synchronize,
    "stream-synchronize": stream_synchronize,
}
FORKING: dict[str, Spoiler] = {"unjoined-fork": unjoined_fork, "foreign-event": foreign_event}

basic = pytest.mark.parametrize("spoiler", [pytest.param(value, id=name) for name, value in BASIC.items()])
forking = pytest.mark.parametrize("spoiler", [pytest.param(value, id=name) for name, value in FORKING.items()])


def spoil(impl: Adapter, spoiler: Spoiler, body: Callable[[], Any], **settings: Any) -> Attempt:
    """Capture `body` and spoil the capture."""
    return attempt(impl, body, spoiler(impl), **settings)
