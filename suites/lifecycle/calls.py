"""Calls that lifecycle scripts make: each says in one line what is expected of the implementation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.adapter import Adapter
from conformance.checks import NotConforming, expect, expect_raises, fail
from conformance.errors import HarnessError, Unsupported


def refused(impl: Adapter, promise: str, call: Callable[[], Any]) -> None:
    """Reject unless `call` raises."""
    expect_raises(promise, call)
    # What a refused call leaves pending in the runtime must not be blamed on the next call.
    last_error = getattr(impl.runtime, "cudaGetLastError", None)
    if last_error is not None:
        last_error()


def expect_capturing(impl: Adapter, capturing: bool) -> None:
    """Reject unless the current stream captures, or does not."""
    seen = impl.is_current_stream_capturing()
    promise = "a stream captures from capture_begin to capture_end, and at no other time"
    expect(seen is capturing, promise, f"is_current_stream_capturing() is {seen}")


def perform(step: Callable[..., Any], impl: Adapter, *arguments: Any, **settings: Any) -> None:
    """Perform a step whose calls are all documented to work, unless the step itself expects otherwise.

    Raises:
        Unsupported: the step resets a graph, of a class whose page lists no reset().
    """
    try:
        step(impl, *arguments, **settings)
    except (NotConforming, HarnessError, NotImplementedError):
        raise
    except Exception as error:
        if isinstance(error, AttributeError) and error.name == "reset" and not impl.has_reset:
            raise Unsupported("the class has no reset(), which its page does not list") from error
        about = str(step.__doc__ or step.__name__).strip().partition("\n")[0]
        fail(f"these calls work: {about}", f"{type(error).__name__}: {error}")
