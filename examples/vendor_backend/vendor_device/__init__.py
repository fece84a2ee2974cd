"""A small vendor's device module, shaped like ``torch.cuda``: what a backend brings of its own.

Its tensors are CPU tensors and its streams do their work at once.  Nothing in it knows of the kit.
"""

from __future__ import annotations

import torch

from vendor_device.graphs import VendorGraph, graph
from vendor_device.recorder import CaptureError
from vendor_device.streams import (
    Event,
    Stream,
    current_stream,
    default_stream,
    is_current_stream_capturing,
    stream,
    synchronize,
)

__all__ = [
    "CaptureError",
    "Event",
    "Stream",
    "VendorGraph",
    "current_stream",
    "default_stream",
    "empty_cache",
    "graph",
    "is_current_stream_capturing",
    "manual_seed",
    "stream",
    "synchronize",
]


def empty_cache() -> None:
    """Return cached memory to the system: there is none."""


def manual_seed(seed: int) -> None:
    """Seed the device's generator, which is the host's."""
    torch.manual_seed(seed)
