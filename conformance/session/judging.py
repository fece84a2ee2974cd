"""From what happened to a test to its result."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from conformance.errors import HarnessError, Unsupported, chain, is_out_of_memory, one_line
from conformance.paths import KIT, SUITES
from conformance.records.result import TestResult
from conformance.records.verdicts import Verdict
from conformance.text import published, said
from conformance.tracebacks import implementation_frames, missing_method, missing_name

if TYPE_CHECKING:
    from conformance.adapter import Adapter

#: What a rejection's message begins with, and what it begins with where a document promises just that.
EXPECTED, PROMISED = "expected: ", "promised: "
#: What the message of a test begins with that the device had no memory for.
NO_MEMORY = "the device had no memory"


def judge(
    result: TestResult, phase: str, error: BaseException, adapter_name: str, *, promised: bool = False
) -> TestResult:
    """`result` of a test that raised `error` in `phase`.

    Args:
        result: so far.
        phase: of the test.
        error: what it raised.
        adapter_name: of the implementation.
        promised: whether a document says what was expected, so that the message may.
    """
    frames = implementation_frames(error.__traceback__, (KIT, SUITES))
    failure = replace(result, verdict=Verdict.FAIL, phase=phase, message=_message(error), frames=frames)
    if isinstance(error, pytest.skip.Exception):
        return replace(failure, verdict=Verdict.SKIPPED, message=published(said(error)), frames=())
    for cause in chain(error):
        missing = missing_method(cause)
        if missing is not None:
            message = f"the adapter {adapter_name!r} does not implement {missing}(), which this test needs"
            return replace(failure, verdict=Verdict.ERROR, message=message, frames=())
        if isinstance(cause, HarnessError):
            return replace(failure, verdict=Verdict.ERROR, message=published(said(cause)), frames=())
    expected, seen = getattr(error, "promise", None), getattr(error, "seen", None)
    if isinstance(expected, str) and isinstance(seen, str):
        message = failure.message.replace(EXPECTED, PROMISED, 1) if promised else failure.message
        return replace(failure, message=message, expected=published(expected), seen=published(seen))
    # Before and after the test proper only the kit's own code runs; what it does not expect is its own mistake.
    if phase != "call":
        return replace(failure, verdict=Verdict.ERROR)
    return failure


def lacking(error: BaseException, adapter: Adapter) -> str | None:
    """What the device, the adapter or the class lacks, when that is why a test ended; ``None`` when something else is.

    What is missed while a rejection is on its way takes nothing from the rejection.
    """
    causes = list(chain(error))
    place = next((place for place, cause in enumerate(causes) if isinstance(cause, Unsupported)), None)
    if place is not None and not any(hasattr(cause, "promise") for cause in causes[place:]):
        return published(said(causes[place]))
    first = causes[-1]
    if isinstance(first, AttributeError) and first.name == "reset" and not adapter.has_reset:
        # Where the page lists it, a test of its own asks for it.
        return f"{adapter.graph_class.__qualname__} has no reset()"
    return None


def after_teardown(result: TestResult, teardown_result: TestResult) -> TestResult:
    """The result of a test whose teardown failed too.

    A test that was rejected keeps its reason, since the teardown most often trips over what the test left.
    """
    if result.verdict.rejects or result.verdict is Verdict.ERROR:
        message = f"{result.message}\nafterwards, in teardown: {one_line(teardown_result.message)}"
        return replace(result, message=message)
    return teardown_result


def with_residue(result: TestResult, changes: Iterable[str]) -> TestResult:
    """The result of a test that left these changes behind: a pass is none then."""
    left_behind = "; ".join(dict.fromkeys(filter(None, [result.left_behind, *changes])))
    if not left_behind:
        return result
    result = replace(result, left_behind=left_behind)
    if result.verdict.rejects or result.verdict is Verdict.ERROR:
        return result
    return _late(result, Verdict.FAIL, f"left behind: {left_behind}")


def lack_of_memory(error: BaseException) -> str | None:
    """The want of device memory on the way to `error`, as one line; ``None`` when there was none."""
    want = next(filter(is_out_of_memory, chain(error)), None)
    return None if want is None else one_line(want)


def starved(result: TestResult, want: str) -> TestResult:
    """The result of a test that the device had no memory for: nothing that it came to was the class's own doing."""
    if result.verdict is Verdict.SKIPPED or result.message.startswith(NO_MEMORY):
        return result
    before = (
        f"\nso this says nothing: {result.message}" if result.verdict.rejects and want not in result.message else ""
    )
    phase = result.phase if result.message else "teardown"
    return replace(_late(result, Verdict.ERROR, f"{NO_MEMORY}: {want}{before}"), phase=phase, reproducer=None)


def leaking(result: TestResult, want: str, excess: int) -> TestResult:
    """The result of a test that the device had no memory for because this process holds it, between two tests."""
    message = f"{NO_MEMORY}, and {excess >> 20} MiB of it were not given back by this test and those before it: {want}"
    return _late(result, Verdict.FAIL, message)


def _late(result: TestResult, verdict: Verdict, message: str) -> TestResult:
    return replace(result, verdict=verdict, phase="teardown", message=message, expected=None, seen=None, frames=())


def recover(adapter: Adapter) -> str | None:
    """Make the implementation ready for the next test; in words, what could not be put right.

    A want of memory is passed on: nobody knows what it would have said otherwise.

    Raises:
        HarnessError: a method is missing that this takes, which says nothing of the class.
    """
    try:
        trouble = adapter.recover()
        return None if trouble is None else one_line(str(trouble))
    except Exception as error:  # the next test must start all the same, and this one reports it
        if is_out_of_memory(error):
            raise
        missing = missing_method(error) or missing_name(error, adapter)
        if missing is not None:
            raise HarnessError(
                f"the adapter {adapter.name!r} has no {missing}(), which is called after each test: write it"
            ) from error
        return f"recovering raised {one_line(error)}"


def _message(error: BaseException) -> str:
    text = said(error)
    if not isinstance(error, AssertionError | pytest.fail.Exception) or not text:
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return published("\n".join([text, *map(said, getattr(error, "__notes__", ()))]))
