"""One test that fails when it first runs in a process, and never again; and others that are well."""

from __future__ import annotations

from collections import Counter

import pytest

from conformance.adapter import Adapter
from conformance.markers import requirement

RUNS: Counter[str] = Counter()


# It comes first here, and runs last.
@requirement("hostile.deadly")
def test_deadly(impl: Adapter) -> None:
    impl.new_graph().replay()


@requirement("hostile.behaves")
@pytest.mark.parametrize("name", ["calm-1", "flaky", "calm-2"])
def test_it(impl: Adapter, name: str) -> None:
    impl.new_graph().replay()
    RUNS[name] += 1
    assert name != "flaky" or RUNS[name] > 1
