"""Tests that fail with a graph in their hands, and one between them that does not."""

from __future__ import annotations

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect
from conformance.markers import requirement


@requirement("hostile.behaves")
@pytest.mark.parametrize("name", ["fails-1", "calm", "fails-2"])
def test_it(impl: Adapter, name: str) -> None:
    graph = impl.new_graph(keep_graph=True)
    impl.capture_begin(graph)
    graph.capture_end()
    graph.instantiate()
    graph.replay()
    expect(name == "calm", "it is calm", f"{name} is not")
