"""Two captures at the same time into one pool: refused or kept apart, never wrong."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_no_raise
from conformance.markers import requirement
from suites.pools.programs import capture_chain
from suites.support.captures import replay
from suites.support.programs import POISON, SIZE, chain

if TYPE_CHECKING:
    import torch


@dataclass
class Attempt:
    """What came of beginning a second capture while the first one was open."""

    first: Any
    second: Any
    overlap: bool = False
    first_out: torch.Tensor | None = None
    second_out: torch.Tensor | None = None
    errors: dict[str, Exception] = field(default_factory=dict)


def attempt(impl: Adapter, source: torch.Tensor, pool: Any) -> Attempt:
    """Open two captures into `pool` on two streams, taking turns, and close both whatever happens."""
    (first, settings), (second, _) = impl.graph_for(pool=pool), impl.graph_for(pool=pool)
    outcome = Attempt(first, second)
    streams = impl.new_stream(), impl.new_stream()
    impl.synchronize()
    with impl.stream(streams[0]):
        impl.capture_begin(outcome.first, **settings)
        try:
            middle = chain(source, 3)
            with impl.stream(streams[1]):
                try:
                    impl.capture_begin(outcome.second, **settings)
                    outcome.overlap = True
                    outcome.second_out = chain(source, 6)
                except Exception as error:
                    outcome.errors["second"] = error
            outcome.first_out = chain(middle, 4)
            if outcome.overlap:
                with impl.stream(streams[1]):
                    try:
                        outcome.second.capture_end()
                    except Exception as error:
                        outcome.errors["second"] = error
        except Exception as error:
            outcome.errors["first"] = error
        finally:
            try:
                outcome.first.capture_end()
            except Exception as error:
                outcome.errors["first"] = error
    for refusal in outcome.errors.values():
        refusal.__traceback__ = None  # it would keep the captured tensors alive
    impl.synchronize()
    return outcome


def discard(*graphs: Any) -> None:
    """Reset graphs that an attempt may have left in any state, where there is a reset()."""
    for graph in graphs:
        with contextlib.suppress(Exception):
            graph.reset()


@requirement("pools.concurrent-captures-never-wrong")
def test_two_captures_into_one_pool_are_never_wrong(impl: Adapter) -> None:
    """Whichever of the two captures ended without an error replays right."""
    source = impl.full(SIZE, 1.0)
    outcome = attempt(impl, source, impl.graph_pool_handle())
    try:
        for value in (5.0, -12.0, 0.5):
            source.fill_(value)
            for name, graph, out, steps in (
                ("first", outcome.first, outcome.first_out, 7),
                ("second", outcome.second, outcome.second_out, 6),
            ):
                if name in outcome.errors or out is None:
                    continue
                out.fill_(POISON)
                replay(impl, graph)
                expect_equal(
                    impl,
                    out,
                    value + steps,
                    f"the {name} of two simultaneous captures reported no error, so it is right",
                )
    finally:
        discard(outcome.first, outcome.second)


@requirement("pools.refused-concurrent-harmless")
def test_a_refused_second_capture_leaves_the_first_alone(impl: Adapter) -> None:
    """The first capture ends without an error and replays right when the second was refused at once."""
    source = impl.full(SIZE, 1.0)
    outcome = attempt(impl, source, impl.graph_pool_handle())
    try:
        expect(
            outcome.overlap or "first" not in outcome.errors,
            "refusing a second capture into a pool leaves the first capture alone",
            f"the first capture failed too: {outcome.errors.get('first')}",
        )
        if outcome.first_out is None or "first" in outcome.errors:
            return
        for value in (5.0, -12.0, 0.5):
            source.fill_(value)
            outcome.first_out.fill_(POISON)
            replay(impl, outcome.first)
            expect_equal(impl, outcome.first_out, value + 7, "the first of two captures into one pool replays right")
    finally:
        discard(outcome.first, outcome.second)


@requirement("pools.usable-after-concurrent")
def test_the_pool_is_usable_after_the_attempt(impl: Adapter) -> None:
    """A later capture into the same pool, on its own, works."""
    source = impl.full(SIZE, 1.0)
    keeper, keeper_out = capture_chain(impl, source, 2)
    outcome = attempt(impl, source, keeper.pool())
    discard(outcome.first, outcome.second)
    graph, out = expect_no_raise(
        "a pool takes further captures after two were attempted at once",
        lambda: capture_chain(impl, source, 5, pool=keeper.pool()),
    )
    for value in (5.0, -12.0, 0.5):
        source.fill_(value)
        keeper_out.fill_(POISON)
        out.fill_(POISON)
        replay(impl, keeper)
        replay(impl, graph)
        expect_equal(impl, keeper_out, value + 2, "the graph captured before the attempt replays right")
        expect_equal(impl, out, value + 5, "the graph captured after the attempt replays right")
