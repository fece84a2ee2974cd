"""Programs whose results count their own runs, and graphs brought into a named state."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest
import torch

from conformance.adapter import Adapter
from conformance.checks import expect_equal
from conformance.markers import requirement
from suites.support.programs import captured, replay

#: States of a graph that holds a capture, by readable name.
HELD_STATES = ("executable-only", "template-only", "kept-and-instantiated", "kept-and-replayed")


class Counter:
    """A tensor in ordinary memory and a program that adds `step` to it, so that its values tell how often it ran."""

    def __init__(self, impl: Adapter, step: float = 1.0, shape: tuple[int, ...] = (3, 5)) -> None:
        self._impl = impl
        self._step = step
        # No two elements are equal, so an element that was skipped or written twice cannot hide.
        self._start = torch.arange(torch.Size(shape).numel(), dtype=torch.float32).reshape(shape) + 100
        self.tensor = impl.tensor(self._start)

    def body(self) -> None:
        """The program: one in-place addition."""
        self.tensor.add_(self._step)

    def expect_runs(self, runs: int, promise: str) -> None:
        """Reject unless the program ran `runs` times since the counter was made."""
        expect_equal(self._impl, self.tensor, self._start + runs * self._step, promise)


def graph_in_state(impl: Adapter, state: str, counter: Counter) -> Any:
    """A graph that holds the program of `counter`, in one of `HELD_STATES`.

    Reaching "kept-and-replayed" runs the program once.
    """
    graph, _ = captured(impl, counter.body, keep_graph=None if state == "executable-only" else True)
    if state == "kept-and-instantiated":
        graph.instantiate()
    elif state == "kept-and-replayed":
        replay(impl, graph)
    return graph


def runs_so_far(state: str) -> int:
    """How often bringing a graph into `state` ran its program."""
    return 1 if state == "kept-and-replayed" else 0


def refusal(call: Callable[[], Any]) -> tuple[bool, str]:
    """Whether `call` raises a RuntimeError, and in words what it did.

    The error itself is not kept: its traceback would hold a graph until a collection that may come inside a capture.
    """
    try:
        result = call()
    except Exception as error:
        return isinstance(error, RuntimeError), f"{type(error).__name__}: {error}"
    return False, f"no error; the call returned {result!r}"


def collect_garbage() -> None:
    """Collect what the test has just dropped; the old objects of the process would take long and are left out."""
    gc.collect(1)


def each_mode(kept: str) -> pytest.MarkDecorator:
    """Run a test on a graph made without arguments and on one with keep_graph=True.

    The latter also decides the requirement `kept`, so that a class without keep_graph owes only the former.
    """
    return pytest.mark.parametrize(
        "keep_graph",
        [pytest.param(None, id="not-kept"), pytest.param(True, id="kept", marks=requirement(kept))],
    )


def each_state(kept: str, states: tuple[str, ...] = HELD_STATES) -> pytest.MarkDecorator:
    """Run a test on a graph in each of `states`; those that need keep_graph=True also decide `kept`."""
    mark = requirement(kept)
    return pytest.mark.parametrize(
        "state", [pytest.param(state, marks=() if state == "executable-only" else (mark,)) for state in states]
    )
