"""Programs that are text: each part is run as it is written, so that a script repeats what the test did.

The words of the text are ``impl``, ``torch``, ``DEVICE``, ``tensor``, ``expect_equal`` (of a tensor, what it should
hold and the promise), and the functions that the test lets it `use`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import torch
from hypothesis import given
from hypothesis import strategies as st

from conformance.adapter import Adapter
from conformance.checks import NotConforming, expect_equal
from conformance.errors import HarnessError
from conformance.property_tests import Examples, examples
from conformance.reproducing.steps import Steps
from conformance.tracebacks import missing_method

T = TypeVar("T")


class Script:
    """A program that runs while it is drawn.

    Attributes:
        impl: the implementation under test.
    """

    def __init__(self, impl: Adapter, steps: Steps, data: st.DataObject) -> None:
        self.impl = impl
        self._steps = steps
        self._data = data
        self._names: dict[str, Any] = {
            "impl": impl,
            "torch": torch,
            "tensor": impl.tensor,
            "DEVICE": impl.device,
            "expect_equal": partial(expect_equal, impl),
        }

    def use(self, *functions: Callable[..., Any]) -> None:
        """Let the text have these functions of the suites and of `conformance.checks`."""
        for function in functions:
            self._names[self._steps.word(function)] = function

    def do(self, *lines: str) -> None:
        """Write these lines, and run them."""
        for line in lines:
            self._steps.line(line)
        text = "\n".join(lines)
        exec(compile(text, "<a drawn program>", "exec"), self._names)  # noqa: S102  # the text is the suites' own

    def draw(self, strategy: st.SearchStrategy[T]) -> T:
        """A value that decides how the program goes on."""
        return self._data.draw(strategy)

    def one_of(self, *choices: T) -> T:
        """One of these."""
        return self.draw(st.sampled_from(choices))

    def number(self, first: int, last: int) -> int:
        """A whole number from `first` to `last`."""
        return self.draw(st.integers(first, last))

    def order(self, things: Sequence[T]) -> list[T]:
        """All of these, in any order."""
        return self.draw(st.permutations(things))

    def leave(self) -> None:
        """Let go of everything."""
        self._names.clear()
        with contextlib.suppress(Exception):
            self.impl.synchronize()


def hold(impl: Adapter, count: int, play: Callable[[Script], None]) -> None:
    """Reject unless `count` programs that `play` draws and runs end well."""
    found = Examples()

    @examples(count)
    @given(data=st.data())
    def holds(data: st.DataObject) -> None:
        found.begin()
        steps = Steps()
        script = Script(impl, steps, data)
        try:
            play(script)
        except Exception as error:
            # What the adapter cannot do is not the implementation's fault.
            if isinstance(error, NotConforming) or not _of_the_kit(error):
                found.rejected(error, steps)
            raise
        finally:
            script.leave()

    found.run(holds)


def _of_the_kit(error: Exception) -> bool:
    return isinstance(error, HarnessError) or missing_method(error) is not None
