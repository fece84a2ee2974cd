"""Graphs whose hooks can be made to run, once or again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect
from suites.support.captures import capture_between
from suites.support.hooks import MOMENTS, register
from suites.support.programs import Affine

EACH_MOMENT = pytest.mark.parametrize("moment", MOMENTS)

#: The calls that run hooks of a moment: in what a graph is made with, and by what it is made to run them.
OCCASIONS = ("capture-end", "capture-end-kept", "post-instantiate-in-capture-end", "instantiate", "first-replay")
EACH_OCCASION = pytest.mark.parametrize("occasion", OCCASIONS)


#: Of the hooks in a test of their order: in none that a number has by itself, and more than there are digits.
NUMBERS = (3, 11, 1, 4, 10, 0, 2, 9, 5, 8, 6, 7)

#: What a hook may give back, of which nothing is made.
RESULTS = (None, False, True, 0, "stop")


def register_returning(graph: Any, moment: str) -> list[Any]:
    """Register a hook for each of `RESULTS` that returns it; the list that their arguments will be noted in."""
    arguments: list[Any] = []

    def returning(result: Any) -> Callable[[Any], Any]:
        def hook(argument: Any) -> Any:
            arguments.append(argument)
            return result

        return hook

    for result in RESULTS:
        register(graph, moment, returning(result))
    return arguments


def expect_all_called(graph: Any, arguments: list[Any]) -> None:
    """Reject unless each hook of `register_returning` was called once, with `graph`."""
    fine = len(arguments) == len(RESULTS) and all(one is graph for one in arguments)
    promise = "each hook is called once with its graph, whatever the hooks before it returned"
    expect(fine, promise, f"{len(arguments)} calls of {len(RESULTS)} hooks, with {arguments}")


class Occasion:
    """A graph on the verge of running its hooks for the first time, in one of the ways of `OCCASIONS`.

    Attributes:
        graph: the graph.
        moment: which of `MOMENTS` the occasion belongs to.
        program: what the graph captures.
    """

    def __init__(self, impl: Adapter, name: str) -> None:
        self._impl = impl
        self._name = name
        self.moment = "capture-end" if name.startswith("capture-end") else "post-instantiate"
        self.graph = impl.new_graph(keep_graph=name in ("capture-end-kept", "instantiate", "first-replay"))
        self.program = Affine(impl)

    def prepare(self) -> None:
        """Do what comes before the call that runs the hooks."""
        if self._name in ("instantiate", "first-replay"):
            capture_between(self._impl, self.graph, self.program.body)

    def happen(self) -> None:
        """Make the call that runs the hooks."""
        if self._name == "instantiate":
            self.graph.instantiate()
        elif self._name == "first-replay":
            self.graph.replay()
        else:
            capture_between(self._impl, self.graph, self.program.body)


class Rounds:
    """A graph whose hooks of one moment run once in each round.

    A further capture takes a reset(), and whether hooks outlive it is another requirement than those that need a
    further round.  So a hook registered before all others tells whether any are left.
    """

    def __init__(self, impl: Adapter, moment: str) -> None:
        self._impl = impl
        self._moment = moment
        self.graph = impl.new_graph(keep_graph=True)
        self.program = Affine(impl)
        self._has_capture = False
        self._hooks_left = False
        self.register(self._tell)

    def _tell(self, _graph: Any) -> None:
        self._hooks_left = True

    def register(self, hook: Callable[[Any], Any]) -> Any:
        """Register a hook for the moment; return the handle."""
        return register(self.graph, self._moment, hook)

    def next(self) -> bool:
        """Run the hooks of the moment once more; whether there were any left to run after a reset()."""
        was_reset = self._moment == "capture-end" and self._has_capture
        self._hooks_left = False
        if was_reset:
            self.graph.reset()
        if self._moment == "capture-end" or not self._has_capture:
            capture_between(self._impl, self.graph, self.program.body)
        if self._moment == "post-instantiate":
            self.graph.instantiate()
        self._has_capture = True
        return self._hooks_left or not was_reset
