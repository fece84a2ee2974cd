"""A replay does its work wherever in a program it is called."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode

from conformance.adapter import Adapter, in_thread
from conformance.checks import expect_equal
from conformance.markers import needs, requirement
from suites.support.captures import captured

#: Calls a replay somewhere.
Circumstance = Callable[[Callable[[], Any]], None]


def _while_an_exception_is_handled(replay: Callable[[], Any]) -> None:
    try:
        raise LookupError("what the program handles")
    except LookupError:
        replay()


def _in_an_event_loop(replay: Callable[[], Any]) -> None:
    async def task() -> None:
        replay()

    asyncio.run(task())


def _in_a_function_mode(replay: Callable[[], Any]) -> None:
    class Mode(TorchFunctionMode):
        """Changes nothing."""

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    with Mode():
        replay()


def _in_a_backward_pass(replay: Callable[[], Any]) -> None:
    x = torch.ones(3, requires_grad=True)  # of the host, where hooks are called in this thread

    def hook(_gradient: torch.Tensor) -> None:  # what a replay may return is no gradient
        replay()

    x.register_hook(hook)
    x.sum().backward()


def _in_a_finalizer(replay: Callable[[], Any]) -> None:
    class Owner:
        def __del__(self) -> None:
            replay()

    owner = Owner()
    del owner


CIRCUMSTANCES = {
    "while-an-exception-is-handled": _while_an_exception_is_handled,
    "in-an-event-loop": _in_an_event_loop,
    "in-a-function-mode": _in_a_function_mode,
    "in-a-backward-pass": _in_a_backward_pass,
    "in-a-finalizer": _in_a_finalizer,
}


@requirement("replay.performs-work")
@pytest.mark.parametrize("circumstance", CIRCUMSTANCES)
def test_in_a_circumstance(impl: Adapter, circumstance: str) -> None:
    """What surrounds the call is the program's business."""
    x = impl.full(37, 0.0)
    graph, _ = captured(impl, lambda: x.add_(1.0))
    for turn in range(1, 4):
        CIRCUMSTANCES[circumstance](graph.replay)
        impl.synchronize()
        expect_equal(impl, x, float(turn), f"a replay {circumstance.replace('-', ' ')} performs the captured work")


@requirement("replay.performs-work")
@needs("threads")
def test_a_graph_of_a_thread_that_has_ended(impl: Adapter) -> None:
    """A graph belongs to whoever has it, and not to the thread that made it."""
    x = impl.full(37, 0.0)
    graph, _ = in_thread(lambda: captured(impl, lambda: x.add_(1.0)))
    for turn in range(1, 4):
        graph.replay()
        impl.synchronize()
        expect_equal(impl, x, float(turn), "a replay performs the work that an ended thread captured")
