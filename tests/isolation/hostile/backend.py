"""The software reference, which misbehaves in the tests that ask for it."""

from __future__ import annotations

import contextlib
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

    def capture_begin(self, *settings: Any, **named: Any) -> None:
        if DEAD:
            raise RuntimeError("no capture is possible after the one that failed")
        super().capture_begin(*settings, **named)

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
        if name == "dead-after-a-failed-capture":
            with contextlib.suppress(RuntimeError):
                self.capture_end()
            DEAD.append(self)


def _stuck() -> None:
    raise RuntimeError("CUDA error: an illegal memory access was encountered")


KEPT: list[Any] = []
DEAD: list[Any] = []
BACKEND = reference.adapter()
BACKEND.name = "hostile"
BACKEND.graph_class = Hostile


def adapter() -> Adapter:
    return BACKEND
