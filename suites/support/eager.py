"""What a device does outside of captures: a capture can be asked for no more."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from conformance.adapter import Adapter
from conformance.errors import Unsupported
from suites.support.captures import captured
from suites.support.streams import side_stream


def run_eagerly(impl: Adapter, what: str, program: Callable[[], Any], times: int = 2) -> None:
    """Run `program` on a side stream, so that no library handle is made inside the capture that follows.

    Args:
        impl: the implementation.
        what: the work, as the reason names it.
        program: the work.
        times: how often it runs; in the last one a device that can tell is asked whether it waits.

    Raises:
        Unsupported: the device does not run it, or has to wait for it, so that no capture can record it.
    """
    try:
        with side_stream(impl):
            for _ in range(times - 1):
                program()
            with _waits_reported(impl):
                program()
        impl.synchronize()
    except Exception as error:
        raise Unsupported(f"the device does not run {what} without waiting: {type(error).__name__}: {error}") from error


def captured_after_eager(impl: Adapter, what: str, program: Callable[[], Any]) -> tuple[Any, Any]:
    """A graph of `program`, which ran eagerly before, and what `program` returned.

    Raises:
        Unsupported: the device does not run it, or captures do not take it: that they do is another requirement's.
    """
    run_eagerly(impl, what, program)
    try:
        return captured(impl, program)
    except Exception as error:
        raise Unsupported(f"captures do not take {what}: {type(error).__name__}: {error}") from error


@contextlib.contextmanager
def _waits_reported(impl: Adapter) -> Iterator[None]:
    module = impl.module
    turn = getattr(module, "set_sync_debug_mode", None)
    if turn is None:
        yield
        return
    before = module.get_sync_debug_mode()
    turn("error")
    try:
        yield
    finally:
        turn(before)
