"""How many examples a property test draws: few and always the same, or with ``--explore`` new ones, usually more."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from hypothesis import settings
from hypothesis.errors import Flaky

from conformance.checks import NotConforming
from conformance.errors import HarnessError, one_line
from conformance.records.symptoms import NOT_EACH_TIME
from conformance.reproducing.script import ORDINARY, Script
from conformance.reproducing.steps import attach
from conformance.tracebacks import missing_method

#: Further examples that a test may spend on making its first failing one shorter.
SHORTENING = 100

#: In the environment of a run whose examples are counted: a file that gets a byte for each, from any worker, which
#: may end right after.
_COUNTED = "GRAPH_CONFORMANCE_COUNTED_EXAMPLES"

_times = 1.0


def draw(times: float) -> None:
    """Let the tests that are imported from now on draw `times` as many examples as they do in conformance mode."""
    global _times  # noqa: PLW0603  # of the session, as hypothesis's profile is
    _times = times


def examples(count: int, *, steps: int = 50) -> settings:
    """Settings for `count` examples in conformance mode, of at most `steps` steps for a state machine."""
    return settings(max_examples=max(1, round(count * _times)), stateful_step_count=steps)


@contextlib.contextmanager
def count_examples(file: Path) -> Iterator[Callable[[], int]]:
    """Let the sessions that are started meanwhile count the examples they draw; yields what says how many.

    Args:
        file: to count in; it is gone afterwards.
    """
    file.touch()
    os.environ[_COUNTED] = str(file.resolve())
    try:
        yield lambda: file.stat().st_size
    finally:
        del os.environ[_COUNTED]
        file.unlink()


class _Enough(BaseException):
    """Shortening has taken long enough.  No Exception, because hypothesis would take one for a failure."""


class Examples:
    """The examples of one property test: which were rejected, and the shortest of those."""

    def __init__(self) -> None:
        self._shortest: tuple[NotConforming, str] | None = None
        self._after_the_first = 0
        self._enough = False

    def begin(self) -> None:
        """An example begins."""
        if self._shortest is None and _COUNTED in os.environ:
            with Path(os.environ[_COUNTED]).open("ab") as file:
                file.write(b".")
        if self._shortest is not None:
            self._after_the_first += 1
            if self._after_the_first > SHORTENING:
                self._enough = True
                raise _Enough

    @contextlib.contextmanager
    def judged(self, script: Script) -> Iterator[None]:
        """A part of the example: what it raises rejects the example, with the steps that lead there."""
        try:
            yield
        except Exception as error:
            # What the adapter cannot do is not the implementation's fault.
            if isinstance(error, NotConforming) or not _of_the_kit(error):
                self._rejected(error, script.text())
            raise

    def _rejected(self, error: Exception, steps: str) -> None:
        if self._shortest is None or steps.count("\n") <= self._shortest[1].count("\n"):
            promise, seen = ORDINARY, f"{type(error).__name__}: {error}"
            if isinstance(error, NotConforming):
                promise, seen = error.promise, error.seen
            # Without its traceback, which would keep the example's graphs alive.
            self._shortest = NotConforming(promise, seen), steps

    def run(self, test: Callable[[], None]) -> None:
        """Run a property test; reject with the shortest example that it found.

        Raises:
            NotConforming: with the steps of that example.
            HarnessError: nothing was rejected, and the test draws otherwise each time.
        """
        flaky = ""
        try:
            test()
        except Flaky as unsteady:
            if self._shortest is None:
                raise _unjudged(unsteady) from unsteady
            # An example that ends before it has drawn anything, as the one too many may, looks like another answer.
            flaky = "" if self._enough else NOT_EACH_TIME
        except _Enough:
            pass
        except Exception:
            if self._shortest is None:
                raise
        if self._shortest is None:
            return
        error, text = self._shortest
        rejection = NotConforming(error.promise, error.seen + flaky)
        attach(rejection, text)
        raise rejection from None


def _unjudged(flaky: Flaky) -> Exception:
    """What went wrong, not each time, where no example was rejected."""
    first: Exception = getattr(flaky, "exceptions", (flaky,))[0]
    if isinstance(first, Flaky):
        return HarnessError(f"the test draws otherwise each time: {one_line(first)}")
    return first


def _of_the_kit(error: Exception) -> bool:
    return isinstance(error, HarnessError) or missing_method(error) is not None
