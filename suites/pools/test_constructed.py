"""A pool that is given at construction, over several captures of one graph."""

from __future__ import annotations

from conformance.adapter import Adapter
from conformance.checks import expect_equal
from conformance.markers import requirement
from suites.support.captures import capture_into, captured, replay


@requirement("accelerator.settings-last")
def test_pool_given_at_construction_is_used_again(impl: Adapter) -> None:
    """Each capture of a graph made with a token does its work, also after reset(); the token is a hint."""
    source = impl.full(37, 1.0)
    holder, holder_out = captured(impl, lambda: source * 3)
    token = holder.pool()
    graph = impl.new_graph(pool=token)
    for turn in range(3):
        out = capture_into(impl, graph, lambda: source + 1)
        source.fill_(turn + 5.0)
        replay(impl, graph)
        expect_equal(impl, out, turn + 6.0, "a graph made with a pool does its work in every capture")
        graph.reset()
    replay(impl, holder)
    expect_equal(impl, holder_out, 21.0, "the graph that the pool came from does its work afterwards")
