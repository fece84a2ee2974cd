"""Clones of the template, which belong to the user."""

from __future__ import annotations

import pytest
import torch

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_raises
from conformance.markers import requirement
from suites.support.captures import replay
from suites.support.editor import kept
from suites.support.handles import launch

SIZE = 37


@requirement("template-editing.clone-runs")
@pytest.mark.parametrize("replays", [0, 2], ids=["not-instantiated", "replayed"])
def test_clone_runs(impl: Adapter, replays: int) -> None:
    """An executable of the clone does the captured work once in each launch."""
    x = impl.full(SIZE, 0.0)
    out = impl.full(SIZE, -1.0)
    graph, template = kept(impl, lambda: out.copy_(x * 3 + 1))
    replay(impl, graph, replays)
    with template.clone() as clone:
        nodes = len(clone.nodes())
        expect(nodes == len(template.nodes()), "a clone has the template's nodes", f"{nodes} nodes")
        expect(len(clone.edges()) == len(template.edges()), "a clone has the template's edges", f"{clone.edges()}")
        with clone.executable() as executable:
            for turn in range(3):
                x.copy_(impl.tensor(torch.arange(SIZE, dtype=torch.float32) + turn))
                out.fill_(-1.0)
                launch(impl, executable)
                expected = (torch.arange(SIZE) + turn) * 3 + 1
                expect_equal(impl, out, expected, "a clone of the template does the captured work")
    x.fill_(2.0)
    replay(impl, graph)
    expect_equal(impl, out, 7.0, "a clone leaves the graph's own replay alone")


@requirement("template-editing.clone-independent")
@pytest.mark.parametrize("target", ["clone", "template"])
def test_edit_of_one(impl: Adapter, target: str) -> None:
    """A changed parameter and an added node stay in the one that was edited."""
    x, flag, extra = impl.full(SIZE, 0.0), impl.full(SIZE, -1.0), impl.full((3, 5), -1.0)
    graph, template = kept(impl, lambda: x.add_(1))
    node = template.add_memset(flag, 3.0)
    with template.clone() as clone:
        if target == "clone":
            clone.change_memset(template.in_clone(node, clone), flag, 4.0)
            clone.add_memset(extra, 6.0)
        else:
            template.change_memset(node, flag, 4.0)
            template.add_memset(extra, 6.0)
        graph.instantiate()
        with clone.executable() as executable:
            for turn in range(2):
                for name in ("clone", "template"):
                    flag.fill_(-1.0)
                    extra.fill_(-1.0)
                    if name == "clone":
                        launch(impl, executable)
                    else:
                        replay(impl, graph)
                    promise = f"an edit of the {target} shows there and not in the other"
                    expect_equal(impl, flag, 4.0 if name == target else 3.0, promise)
                    expect_equal(impl, extra, 6.0 if name == target else -1.0, promise)
                expect_equal(impl, x, 2.0 * (turn + 1), "both do the captured work")


@requirement("template-editing.clone-outlives-reset")
@pytest.mark.parametrize("moment", ["before-reset", "after-reset"])
def test_clone_after_reset(impl: Adapter, moment: str) -> None:
    """A clone's executable, made before or after reset(), runs when the graph holds nothing any more."""
    x = impl.full(SIZE, 0.0)
    graph, template = kept(impl, lambda: x.add_(2))
    replay(impl, graph)
    impl.synchronize()
    with template.clone() as clone:
        if moment == "after-reset":
            graph.reset()
        with clone.executable() as executable:
            if moment == "before-reset":
                graph.reset()
            expect_raises("a graph that was reset holds nothing to replay", graph.replay)
            for turn in range(2, 5):
                launch(impl, executable)
                expect_equal(impl, x, 2.0 * turn, "a clone and its executable outlive the graph's reset")
