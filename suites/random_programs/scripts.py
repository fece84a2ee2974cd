"""Programs that run while they are drawn: scripts whose every part is run as it is written.

The words of the text are those of `conformance.reproducing.script`, and ``expect_equal``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from hypothesis import given
from hypothesis import strategies as st

from conformance.adapter import Adapter
from conformance.checks import expect_equal
from conformance.property_tests import Examples, examples
from conformance.reproducing.script import Script
from suites.support.needs import without_reset

T = TypeVar("T")


class DrawnScript(Script):
    """A program that runs while it is drawn."""

    def __init__(self, impl: Adapter, data: st.DataObject) -> None:
        super().__init__(impl)
        self._data = data
        self.use(expect_equal)

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


def hold(impl: Adapter, count: int, play: Callable[[DrawnScript], None]) -> None:
    """Reject unless `count` programs that `play` draws and runs end well.

    Raises:
        Unsupported: one of them resets a graph, of a class whose page lists no reset().
    """
    sample = Examples()

    @examples(count)
    @given(data=st.data())
    def holds(data: st.DataObject) -> None:
        sample.begin()
        script = DrawnScript(impl, data)
        try:
            with sample.judged(script), without_reset(impl):
                play(script)
        finally:
            script.close()

    sample.run(holds)
