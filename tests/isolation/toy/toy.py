"""A backend on nothing, for sessions that are about processes: its workers start in no time, since torch stays away."""

from __future__ import annotations

import contextlib
import os
from typing import Any

import behaviours

from conformance.adapter import Adapter

if os.environ.get("HOSTILE_START") == "abort":
    os.abort()
if os.environ.get("HOSTILE_START") == "exit":
    os._exit(0)
if os.environ.get("HOSTILE_START") == "hang":
    behaviours.forever()


class Graph:
    """Counts its replays."""

    def __init__(self, keep_graph: bool = False) -> None:
        self.replays = 0
        if os.environ.get("HOSTILE_START") == "constructor":
            os.abort()

    def __del__(self) -> None:
        if os.environ.get("HOSTILE_START") == "destructor":
            os.abort()

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None: ...

    def capture_end(self) -> None: ...

    def replay(self) -> None:
        self.replays += 1
        name = behaviours.behaviour()
        if name in behaviours.IN_REPLAY:
            behaviours.IN_REPLAY[name]()

    def reset(self) -> None: ...


class Toy(Adapter):
    name = "toy"
    revision = "2.13"
    graph_class = Graph

    @property
    def device(self) -> Any:
        raise NotImplementedError  # torch's name of it comes with an import of torch

    def current_stream(self) -> Any:
        return "the only one"

    def stream(self, stream: Any) -> contextlib.AbstractContextManager[Any]:
        return contextlib.nullcontext()

    def synchronize(self) -> None: ...

    def is_current_stream_capturing(self) -> bool:
        return False

    def full(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


def adapter() -> Adapter:
    return Toy()
