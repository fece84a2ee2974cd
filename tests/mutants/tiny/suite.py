"""Tests of the tiny backend: as few as it takes to kill some of its mutants and let others live."""

from __future__ import annotations

import pytest

from conformance.adapter import Adapter
from conformance.markers import requirement
from suites.support.captures import capture_into
from suites.support.programs import Counter


@requirement("replay.performs-work")
@pytest.mark.parametrize("replays", [1, 2, 3])
def test_count(impl: Adapter, replays: int) -> None:
    graph = impl.new_graph()
    counter = Counter(impl)
    capture_into(impl, graph, counter.body)
    for _ in range(replays):
        graph.replay()
    counter.expect_runs(replays, "each replay does the captured work once")
    assert graph.calls == replays
    assert graph.even == (replays % 2 == 0)
