"""Replays that the liveness check allows and refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from conformance.adapter import Adapter
from conformance.checks import expect_equal, expect_raises, fail
from suites.support.captures import captured
from suites.support.programs import POISON

if TYPE_CHECKING:
    import torch

DEAD = "with the liveness check on, replay raises an error once an input is deallocated"
ALIVE = "with the liveness check on and every input alive, replay runs and computes the right result"
UNTOUCHED = "a replay refused by the liveness check launches nothing"


def checked(
    impl: Adapter, body: Callable[[], Any], *, keep_graph: bool | None = None, **settings: Any
) -> tuple[Any, Any]:
    """A new graph of `body` captured with the liveness check on, and what `body` returned."""
    return captured(impl, body, keep_graph=keep_graph, liveness=True, **settings)


def expect_dead(graph: Any, what: str, times: int = 2) -> None:
    """Reject unless replays of `graph` are refused.

    Args:
        graph: graph whose input is gone.
        what: how the input came to be gone.
        times: how often to try.
    """
    for _ in range(times):
        error = expect_raises(f"{DEAD} (here: {what})", graph.replay)
        # A traceback holds frames, and with them tensors that the next step of a test drops.
        error.__traceback__ = None


def expect_alive(impl: Adapter, graph: Any, out: torch.Tensor, expected: Any, what: str) -> None:
    """Reject unless a replay of `graph` runs and leaves `expected` in `out`."""
    out.fill_(POISON)
    try:
        graph.replay()
    except Exception as error:
        fail(f"{ALIVE} (here: {what})", f"replay was refused: {error}")
    impl.synchronize()
    expect_equal(impl, out, expected, f"{ALIVE} (here: {what})")
