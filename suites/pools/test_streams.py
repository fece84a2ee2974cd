"""Memory of several streams of one capture."""

from __future__ import annotations

import pytest
import torch

from conformance.adapter import Adapter
from conformance.checks import expect_equal
from conformance.markers import requirement
from suites.support.captures import captured, replay
from suites.support.programs import POISON, SIZE


@requirement("pools.not-reused-across-streams")
@pytest.mark.parametrize("first", ["fork-frees", "origin-frees"])
def test_what_one_stream_frees_is_not_another_ones(impl: Adapter, first: str) -> None:
    """Temporaries of two streams that nothing orders, one after the other on the host, spoil no results."""
    x, fork = impl.full(SIZE, 1.0), impl.new_stream()

    def chain(factor: float) -> torch.Tensor:
        result = x * factor
        for step in range(4):
            result = result + step  # what it was before is free for the same stream, as soon as the name is bound again
        return result

    def body() -> tuple[torch.Tensor, torch.Tensor]:
        main = impl.current_stream()
        fork.wait_stream(main)
        if first == "fork-frees":
            with impl.stream(fork):
                forked = chain(2.0)
            own = chain(-3.0)
        else:
            own = chain(-3.0)
            with impl.stream(fork):
                forked = chain(2.0)
        main.wait_stream(fork)
        return forked, own

    graph, (forked, own) = captured(impl, body)
    promise = "memory that one stream freed is not given to another that nothing orders behind it"
    for value in (2.0, -7.0, 30.0, 4.0, -1.0):
        x.fill_(value)
        forked.fill_(POISON)
        own.fill_(POISON)
        replay(impl, graph)
        expect_equal(impl, forked, value * 2 + 6, promise)
        expect_equal(impl, own, value * -3 + 6, promise)
