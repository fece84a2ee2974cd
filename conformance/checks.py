"""Checks that suites are written with.  Each failure says what was expected, what was seen, and nothing else.

How to run the test again is added by the plug-in, which knows the command line.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from conformance.errors import is_out_of_memory
from conformance.tracebacks import missing_method

if TYPE_CHECKING:
    import torch

__all__ = [
    "NotConforming",
    "expect",
    "expect_equal",
    "expect_no_raise",
    "expect_raises",
    "expect_warning",
    "fail",
    "is_refusal",
]


#: What a call that a program gets wrong raises by accident: no document and no engineer calls that a refusal.
_ACCIDENTS = (AttributeError, NameError, UnicodeError)


class Reader(Protocol):
    """What reads a device tensor on the host, as every adapter does."""

    def read(self, tensor: torch.Tensor) -> torch.Tensor: ...


class NotConforming(AssertionError):
    """The implementation does not do what a requirement asks."""

    def __init__(self, promise: str, seen: str) -> None:
        super().__init__(f"expected: {promise}\nseen: {seen}")
        self.promise, self.seen = promise, seen


def fail(promise: str, seen: str) -> NoReturn:
    """Reject the implementation."""
    __tracebackhide__ = True
    raise NotConforming(promise, seen)


def expect(condition: object, promise: str, seen: str) -> None:
    """Reject unless `condition` holds.

    >>> replays = 3
    >>> expect(replays == 3, "each replay runs the graph once", f"{replays} runs after 3 replays")
    >>> replays = 2
    >>> expect(replays == 3, "each replay runs the graph once", f"{replays} runs after 3 replays")
    Traceback (most recent call last):
    conformance.checks.NotConforming: expected: each replay runs the graph once
    seen: 2 runs after 3 replays
    """
    __tracebackhide__ = True
    if not condition:
        fail(promise, seen)


def expect_equal(impl: Reader, tensor: torch.Tensor, expected: Any, promise: str) -> None:
    """Reject unless every element of the device tensor equals `expected`, bit for bit (a NaN equals a NaN).

    Args:
        impl: reads the tensor on the host.
        tensor: device tensor.
        expected: CPU tensor, nested lists, or one number for all elements.
        promise: what was expected.
    """
    __tracebackhide__ = True
    import torch  # not above: tests of a class that has no tensors need not wait for it

    if not isinstance(tensor, torch.Tensor):
        fail(promise, f"no tensor, but {type(tensor).__name__} {tensor!r}")
    actual = impl.read(tensor)
    expected_tensor = torch.as_tensor(expected, dtype=actual.dtype).detach()
    if expected_tensor.dim() == 0:
        expected_tensor = expected_tensor.expand_as(actual)
    if actual.shape != expected_tensor.shape:
        fail(promise, f"shape {tuple(actual.shape)} where {tuple(expected_tensor.shape)} was expected")
    # One operator where the rest takes many, each of which a slow device may record.
    if torch.equal(actual, expected_tensor):
        return
    same = actual == expected_tensor
    if actual.is_floating_point() or actual.is_complex():
        same |= actual.isnan() & expected_tensor.isnan()
    if bool(same.all()):
        return
    first = tuple((~same).nonzero()[0].tolist())
    wrong_count = int((~same).sum())
    fail(
        promise,
        f"{wrong_count} of {same.numel()} elements differ; the first, at {first}, is {actual[first].item()!r} "
        f"and should be {expected_tensor[first].item()!r}",
    )


def is_refusal(error: BaseException | None) -> bool:
    """Whether `error` refuses a call.

    No document names the kind of a refusal, so any exception is one, apart from those that a program's accidents
    raise and those of a failed check.
    """
    return isinstance(error, Exception) and not isinstance(error, (*_ACCIDENTS, NotConforming))


def expect_raises(
    promise: str, call: Callable[[], Any], kinds: type[BaseException] | tuple[type[BaseException], ...] = Exception
) -> BaseException:
    """Reject unless `call` raises one of `kinds`; return what it raised.

    Any refusal will do (`is_refusal`) unless `kinds` says otherwise.  A gap in the adapter and a want of device
    memory are never what `kinds` means.

    >>> promise = "replay before capture is refused"
    >>> def replay():
    ...     raise RuntimeError("no graph was captured")
    >>> str(expect_raises(promise, replay))
    'no graph was captured'
    >>> expect_raises(promise, lambda: None)
    Traceback (most recent call last):
    conformance.checks.NotConforming: expected: replay before capture is refused
    seen: no error; the call returned None
    """
    __tracebackhide__ = True
    try:
        result = call()
    except NotConforming:
        raise
    except kinds as error:
        if missing_method(error) is not None or is_out_of_memory(error):
            raise
        if kinds is Exception and not is_refusal(error):
            fail(promise, f"{type(error).__name__}, which refuses nothing: {error}")
        return error
    except Exception as error:
        fail(promise, f"{type(error).__name__} instead: {error}")
    fail(promise, f"no error; the call returned {result!r}")


def expect_no_raise(promise: str, call: Callable[[], Any]) -> Any:
    """Reject if `call` raises; return its result."""
    __tracebackhide__ = True
    try:
        return call()
    except Exception as error:
        fail(promise, f"{type(error).__name__}: {error}")


def expect_warning(promise: str, call: Callable[[], Any], text: str = "") -> Any:
    """Reject unless `call` warns with a message that contains `text` (any case); return its result."""
    __tracebackhide__ = True
    with warnings.catch_warnings(record=True) as entries:
        warnings.simplefilter("always")
        result = call()
    messages = [str(entry.message) for entry in entries]
    expect(
        any(text.lower() in message.lower() for message in messages),
        promise,
        f"warnings: {messages!r}" if messages else "no warning",
    )
    return result
