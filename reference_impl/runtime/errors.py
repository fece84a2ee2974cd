"""How a call fails: a refusal inside, an error code outside, the last error of the thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, Final, ParamSpec

from reference_impl.runtime.bindings import cudaError_t

P = ParamSpec("P")
Results = tuple[Any, ...]

SUCCESS: Final = cudaError_t.cudaSuccess
OK: Final[Results] = (SUCCESS,)

LOCK: Final = threading.RLock()
"""Guards the state of the whole model; never held while a kernel runs synchronously."""


class Refusal(Exception):
    """A call that CUDA would answer with an error code."""

    def __init__(self, code: Any) -> None:
        super().__init__(code)
        self.code = code


class _Thread(threading.local):
    def __init__(self) -> None:
        self.last_error: Any = SUCCESS


class _Failure:
    exception: BaseException | None = None


_thread = _Thread()
_failure = _Failure()


def refused(code: Any) -> Any:
    """Remember `code` as the calling thread's last error and hand it back."""
    _thread.last_error = code
    return code


def api(results: int = 0, *, locked: bool = True) -> Callable[[Callable[P, Results | None]], Callable[P, Results]]:
    """Make a function of the runtime: refusals become codes, `results` empty values follow them.

    ``locked=False`` is for calls that may run kernels or wait, which take the lock where they need it.
    """
    nothing = (None,) * results

    def decorate(function: Callable[P, Results | None]) -> Callable[P, Results]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> Results:
            try:
                if locked:
                    with LOCK:
                        values = function(*args, **kwargs)
                else:
                    values = function(*args, **kwargs)
            except Refusal as refusal:
                return (refused(refusal.code), *nothing)
            return OK if values is None else (SUCCESS, *values)

        return call

    return decorate


def peek_last_error() -> Any:
    """The calling thread's last error, kept."""
    return _thread.last_error


def take_last_error() -> Any:
    """The calling thread's last error, cleared."""
    code, _thread.last_error = _thread.last_error, SUCCESS
    return code


def kernel_failed(exception: BaseException) -> Refusal:
    """Keep what a kernel raised for `last_failure`; returns the refusal to raise instead."""
    _failure.exception = exception
    return Refusal(cudaError_t.cudaErrorLaunchFailure)


def last_failure() -> BaseException | None:
    """What the kernel behind the latest `cudaErrorLaunchFailure` raised; None if none did."""
    return _failure.exception
