"""The capture modes, and the call that they tell apart."""

from __future__ import annotations

from collections.abc import Callable

from conformance.adapter import Adapter, in_thread
from conformance.errors import Unsupported

MODES = ("global", "thread_local", "relaxed")


def need_global_default(impl: Adapter) -> None:
    """Go no further where a capture that names no mode has another one than the page's.

    Raises:
        Unsupported: the adapter says so.
    """
    if impl.default_mode != "global":
        raise Unsupported(f"the implementation's own default mode is {impl.default_mode!r} (Adapter.default_mode)")


def unsafe(impl: Adapter) -> Callable[[], None]:
    """The call that the modes tell apart.

    An adapter that cannot make it must not look like a device that refuses it, although its NotImplementedError is a
    RuntimeError too.
    """

    def call() -> None:
        try:
            impl.unsafe_call()
        except NotImplementedError as error:
            raise Unsupported(f"the adapter cannot make the call that the modes tell apart: {error}") from error

    return call


def unsafe_elsewhere(impl: Adapter, depth: int = 1) -> Callable[[], None]:
    """The call made by another thread, or by a thread that another thread started (`depth` 2)."""
    call = unsafe(impl)
    for _ in range(depth):
        call = _in_thread(call)
    return call


def _in_thread(call: Callable[[], None]) -> Callable[[], None]:
    return lambda: in_thread(call)
