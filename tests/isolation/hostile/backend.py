"""The software reference, which misbehaves in the tests that ask for it."""

from __future__ import annotations

import os
from typing import Any

import behaviours

import reference_impl
from conformance.adapter import Adapter
from conformance.adapters import reference


class Hostile(reference_impl.CUDAGraph):
    """The reference's class.  A behaviour comes after what the call is for."""

    def __init__(self, keep_graph: bool = False) -> None:
        super().__init__(keep_graph)
        if behaviours.behaviour() == "abort-in-constructor":
            os.abort()

    def replay(self) -> None:
        super().replay()
        name = behaviours.behaviour()
        if name in behaviours.IN_REPLAY:
            behaviours.IN_REPLAY[name]()
        elif name == "wrong-value":
            super().replay()
        elif name == "sticky-error":
            BACKEND.synchronize = _stuck

    def reset(self) -> None:
        super().reset()
        name = behaviours.behaviour()
        if name in {"capture-left-open", "wrong-stream"}:
            reference_impl.set_stream(reference_impl.Stream())
        if name == "capture-left-open":
            self.capture_begin()
            KEPT.append(self)


def _stuck() -> None:
    raise RuntimeError("CUDA error: an illegal memory access was encountered")


KEPT: list[Any] = []
BACKEND = reference.adapter()
BACKEND.name = "hostile"
BACKEND.graph_class = Hostile


def adapter() -> Adapter:
    return BACKEND
