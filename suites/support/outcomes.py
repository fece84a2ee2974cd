"""What calls raise, and what that says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.checks import expect, expect_raises, is_refusal
from conformance.errors import HarnessError

#: What a call that a program gets wrong raises by accident: no document and no engineer calls that a refusal.
ACCIDENTS = (AttributeError, NameError)


def caught(call: Callable[[], Any]) -> Exception | None:
    """What `call` raised, without the frames that would keep its tensors alive; ``None`` if nothing."""
    try:
        call()
    except HarnessError:  # an error of the kit itself is no answer of the implementation
        raise
    except Exception as error:
        return error.with_traceback(None)
    return None


def in_words(error: Exception | None) -> str:
    """An outcome for a failure message."""
    return "no error" if error is None else f"{type(error).__name__}: {error}"


def refusal(call: Callable[[], Any]) -> tuple[bool, str]:
    """Whether `call` is refused with an exception, and in words what it did.

    The error itself is not kept: its traceback would hold a graph until a collection that may come inside a capture.
    """
    try:
        result = call()
    except Exception as error:
        return is_refusal(error), in_words(error)
    return False, f"no error; the call returned {result!r}"


def related(error: BaseException | None) -> list[BaseException]:
    """`error` and the exceptions that it was raised from or while handling."""
    errors: list[BaseException] = []
    waiting = [error]
    while waiting:
        one = waiting.pop()
        if one is not None and one not in errors:
            errors.append(one)
            waiting += [one.__cause__, one.__context__]
    return errors


def judge(call: Callable[[], Any]) -> None:
    """Reject unless `call` is refused with a message that is written for a user, in whatever language."""
    judge_message(expect_raises("the call is refused", call))


def judge_message(error: BaseException) -> None:
    """Reject unless the message of `error` is written for a user, in whatever language."""
    promise = "the error of a refused call tells its user what is wrong"
    text = str(error)
    # Not all scripts part words by blanks; but a number alone tells nobody anything.
    expect(any(character.isalpha() for character in text), promise, f"the message {text!r}")
    expect("INTERNAL ASSERT" not in text, promise, f"a failed assertion of the implementation's own: {text!r}")
