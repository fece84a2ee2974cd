"""Moves that the replay suites share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from conformance.adapter import Adapter
from suites.support.captures import captured


def chain(x: torch.Tensor, y: torch.Tensor) -> None:
    """Write ``8 * x + 14`` to `y` in several dependent steps, long enough for wrong orders to show."""
    y.copy_(x)
    for _ in range(3):
        y.add_(1.0)
        y.mul_(2.0)


def chained(value: Any) -> Any:
    """What `chain` gives for `value`."""
    return value * 8.0 + 14.0


def captured_chain(impl: Adapter, x: torch.Tensor, y: torch.Tensor) -> Any:
    """A graph that runs `chain`."""
    graph, _ = captured(impl, lambda: chain(x, y))
    return graph


def results_of(impl: Adapter, call: Callable[[], Any], tensor: torch.Tensor, times: int) -> list[torch.Tensor]:
    """What `tensor` holds after each of `times` calls."""
    results = []
    for _ in range(times):
        call()
        results.append(impl.read(tensor))
    return results
