"""Templates and executables, counted where the class makes them through the adapter's runtime module."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from conformance.adapter import Adapter
from conformance.errors import Unsupported
from suites.support.captures import captured, replay
from suites.support.handles import runtime_of
from suites.support.programs import Counter

#: Each way of the runtime to make an executable.
_INSTANTIATE = ("cudaGraphInstantiate", "cudaGraphInstantiateWithFlags", "cudaGraphInstantiateWithParams")


class Objects:
    """What there is of graphs since the count began.

    Attributes:
        templates: handles of those that captures ended with, and that are not destroyed.
        executables: handles of those that are not destroyed.
        made: how many executables were made.
    """

    def __init__(self) -> None:
        self.templates: set[int] = set()
        self.executables: set[int] = set()
        self.made = 0

    def note(self, name: str, arguments: tuple[Any, ...], results: list[Any]) -> None:
        """Count what a successful call of the runtime's function `name` did."""
        if name in _INSTANTIATE:
            self.executables.add(int(results[0]))
            self.made += 1
        elif name == "cudaStreamEndCapture":
            self.templates.add(int(results[0]))
        elif name == "cudaGraphDestroy":
            self.templates.discard(int(arguments[0]))
        elif name == "cudaGraphExecDestroy":
            self.executables.discard(int(arguments[0]))

    def watch(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """`function`, the runtime's `name`, with its successful calls noted."""

        def call(*arguments: Any) -> Any:
            answer = function(*arguments)
            error, *results = answer
            if int(error) == 0:
                self.note(name, arguments, results)
            return answer

        return call


@contextlib.contextmanager
def counted(impl: Adapter) -> Iterator[Objects]:
    """Count what the class makes inside a ``with`` block.

    Raises:
        Unsupported: there is no runtime, or the class calls another one.
    """
    runtime, objects = runtime_of(impl), Objects()
    expect_counting(impl, runtime)
    with _watched(runtime, objects):
        yield objects


def expect_counting(impl: Adapter, runtime: Any) -> None:
    """Make sure that what the class makes is counted at this runtime.

    Raises:
        Unsupported: the class calls another one.
    """
    trial = Objects()
    with _watched(runtime, trial):
        graph, _ = captured(impl, Counter(impl).body)
        replay(impl, graph)
        del graph
    if not trial.made:
        raise Unsupported("the class makes its executables without the adapter's runtime: nothing counts them")


@contextlib.contextmanager
def _watched(runtime: Any, objects: Objects) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for name in (*_INSTANTIATE, "cudaStreamEndCapture", "cudaGraphDestroy", "cudaGraphExecDestroy"):
            function = getattr(runtime, name, None)
            if function is not None:
                stack.enter_context(mock.patch.object(runtime, name, objects.watch(name, function)))
        yield
