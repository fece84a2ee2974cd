"""The toy with graphs that can be read, in the way that the environment says."""

from __future__ import annotations

import os
import time
from typing import Any

import toy

from conformance.adapter import Adapter

WAY = os.environ.get("HOSTILE_READING", "")


class Readable(toy.Graph):
    """Says in its graph data what it consists of, or does something else."""

    def __init__(self, keep_graph: bool = False) -> None:
        super().__init__(keep_graph)

    def instantiate(self) -> None: ...

    def get_graph_data(self) -> dict[str, Any]:
        if WAY == "abort":
            os.abort()
        if WAY == "hang":
            time.sleep(1000)
        if WAY == "raise":
            raise RuntimeError("no")
        return {"nodes": [{"node_type": "Kernel", "kernel_name": "work", "dependents": []}]}


class Unreadable(toy.Toy):
    name = "unreadable"
    graph_class = Readable


def adapter() -> Adapter:
    return Unreadable()
