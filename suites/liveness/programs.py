"""Programs of the liveness suites: each has inputs that a test can let die.

A test holds its inputs in a list and lets them die by clearing it, so that no local name, closure or frame of the test
keeps what it means to drop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.adapter import Adapter
from suites.support.liveness import checked
from suites.support.programs import POISON, SIZE

if TYPE_CHECKING:
    import torch


def add_one(impl: Adapter, inputs: list[torch.Tensor], **settings: Any) -> tuple[Any, torch.Tensor]:
    """A checked graph that writes the first of `inputs` plus one to a tensor outside the capture, and that tensor."""
    out = impl.full(SIZE, POISON)
    graph, _ = checked(impl, lambda: out.copy_(inputs[0] + 1), **settings)
    return graph, out
