"""keep_graph decides about objects, never about results."""

from __future__ import annotations

import pytest
import torch

from conformance.adapter import Adapter
from conformance.checks import expect_equal
from conformance.markers import requirement
from suites.support.captures import captured, replay
from suites.support.programs import Counter

DTYPES = (torch.float64, torch.bfloat16, torch.int64)


@requirement("keep-graph.results-do-not-depend")
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: str(dtype).removeprefix("torch."))
@pytest.mark.parametrize("keep_graph", [False, True], ids=["not-kept", "kept"])
def test_results(impl: Adapter, *, keep_graph: bool, dtype: torch.dtype) -> None:
    """A program of several operators gives the same values in both modes and every dtype."""
    x = impl.full(37, 1, dtype)
    # Multiplication and addition are written apart: fused, they could round differently from eager.
    graph, out = captured(impl, lambda: x.mul(3).add(1).neg(), keep_graph=keep_graph)
    for turn in range(3):
        # Small integers are exact in every dtype above.
        data = ((torch.arange(37) * (turn + 2)) % 41 - 20).to(dtype)
        x.copy_(impl.tensor(data))
        out.fill_(77)
        replay(impl, graph)
        expect_equal(impl, out, data.mul(3).add(1).neg(), "a replay computes what the program computes eagerly")


@requirement("keep-graph.graphs-are-independent")
def test_graphs_of_both_modes_side_by_side(impl: Adapter) -> None:
    """Graphs of both modes live side by side; what is done to one does not reach the other."""
    kept_counter, plain_counter = Counter(impl, step=2.0), Counter(impl, step=-1.0)
    kept_graph, _ = captured(impl, kept_counter.body, keep_graph=True)
    plain_graph, _ = captured(impl, plain_counter.body, keep_graph=False)
    replay(impl, plain_graph)
    kept_counter.expect_runs(0, "a replay runs only its own graph's work")
    replay(impl, kept_graph, 2)
    kept_graph.instantiate()
    replay(impl, plain_graph, 2)
    replay(impl, kept_graph)
    kept_counter.expect_runs(3, "a replay runs only its own graph's work")
    plain_counter.expect_runs(3, "a replay runs only its own graph's work")
