"""One test for each behaviour, each followed by one that is calm; all of them capture, replay and look at values."""

from __future__ import annotations

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect_equal
from conformance.markers import requirement, time_limit
from tests.isolation.expected import EXPECTED

NAMES = [name for behaviour in EXPECTED for name in (behaviour, f"calm-after-{behaviour}")]
#: The session's own limit is for those that hang, and a healthy worker must never meet it, whatever else runs here.
CASES = [name if name.startswith("hang") else pytest.param(name, marks=time_limit(60)) for name in NAMES]
DEADLY = ["calm-1", "abort", "calm-2"]


@requirement("hostile.behaves")
@pytest.mark.parametrize("name", CASES)
def test_it(impl: Adapter, name: str) -> None:
    total, x = impl.full(5, 0.0), impl.full(5, 1.0)
    graph = impl.new_graph()
    with impl.capture(graph):
        total.add_(x * 2)
    expect_equal(impl, total, 0.0, "a capture runs nothing")
    for number, expected in ((1.0, 2.0), (10.0, 22.0), (-1.0, 20.0)):
        x.fill_(number)
        graph.replay()
        expect_equal(impl, total, expected, "each replay runs the captured work once, on the values of its inputs then")
    graph.reset()


@requirement("hostile.deadly")
@pytest.mark.parametrize("name", [pytest.param(name, marks=time_limit(60)) for name in DEADLY])
def test_deadly(impl: Adapter, name: str) -> None:
    x = impl.full(3, 1.0)
    graph = impl.new_graph()
    with impl.capture(graph):
        y = x + 1
    x.fill_(5.0)
    graph.replay()
    expect_equal(impl, y, 6.0, "a replay reads its inputs' values of now")
