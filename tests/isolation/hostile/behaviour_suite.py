"""One test for each behaviour, each followed by one that is calm."""

from __future__ import annotations

import pytest

from conformance.adapter import Adapter
from conformance.registry import requirement, time_limit
from tests.isolation.expected import EXPECTED

#: Filling memory takes longer than the limit that the hanging ones are given.
SLOW = {"memory-hog": time_limit(30)}
NAMES = [name for behaviour in EXPECTED for name in (behaviour, f"calm-after-{behaviour}")]


@requirement("hostile.behaves")
@pytest.mark.parametrize("name", [pytest.param(name, marks=SLOW.get(name, ())) for name in NAMES])
def test_it(impl: Adapter, name: str) -> None:
    graph = impl.new_graph()
    graph.capture_begin()
    graph.capture_end()
    graph.replay()
    assert graph.value == 1
    graph.replay = None


@requirement("hostile.deadly")
@pytest.mark.parametrize("name", ["calm-1", "abort", "calm-2", "calm-3"])
def test_deadly(impl: Adapter, name: str) -> None:
    impl.new_graph().replay()
