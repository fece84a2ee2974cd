"""A few tests that note which process ran them, and when."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.markers import requirement

ORDINARY = ["calm-1", "segmentation-fault", "calm-2", "hang-in-destructor", "calm-3"]
DEADLY = ["calm-4", "abort", "calm-5", "calm-6"]


def _check(impl: Adapter, observe: Callable[[str, Any], None]) -> None:
    start = time.monotonic()
    graph = impl.new_graph()
    graph.capture_begin()
    graph.capture_end()
    graph.replay()
    assert graph.replays == 1
    observe("process", os.getpid())
    observe("time", [start, time.monotonic()])


# They come first here, and run last.
@requirement("hostile.deadly")
@pytest.mark.parametrize("name", DEADLY)
def test_deadly(impl: Adapter, observe: Callable[[str, Any], None], name: str) -> None:
    _check(impl, observe)


@requirement("hostile.behaves")
@pytest.mark.parametrize("name", ORDINARY)
def test_it(impl: Adapter, observe: Callable[[str, Any], None], name: str) -> None:
    _check(impl, observe)
