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
    begun: bool = False
    first_out: torch.Tensor | None = None
    second_out: torch.Tensor | None = None
    errors: dict[str, RuntimeError] = field(default_factory=dict)


def attempt(impl: Adapter, source: torch.Tensor, pool: Any) -> Attempt:
    """Open two captures into `pool` on two streams, taking turns, and close both whatever happens."""
    tried = Attempt(impl.new_graph(), impl.new_graph())
    streams = impl.new_stream(), impl.new_stream()
    impl.synchronize()
    with impl.stream(streams[0]):
        impl.capture_begin(tried.first, pool=pool)
        try:
            middle = chain(source, 3)
            with impl.stream(streams[1]):
                try:
                    impl.capture_begin(tried.second, pool=pool)
                    tried.begun = True
                    tried.second_out = chain(source, 6)
                except RuntimeError as error:
                    tried.errors["second"] = error
            tried.first_out = chain(middle, 4)
            if tried.begun:
                with impl.stream(streams[1]):
                    try:
                        tried.second.capture_end()
                    except RuntimeError as error:
                        tried.errors["second"] = error
        except RuntimeError as error:
            tried.errors["first"] = error
        finally:
            try:
                tried.first.capture_end()
            except RuntimeError as error:
                tried.errors["first"] = error
    for refusal in tried.errors.values():
        refusal.__traceback__ = None  # it would keep the captured tensors alive
    impl.synchronize()
    return tried


def discard(*graphs: Any) -> None:
    """Reset graphs that an attempt may have left in any state."""
    for graph in graphs:
        with contextlib.suppress(RuntimeError):
            graph.reset()


@requirement("pools.concurrent-captures-never-wrong")
def test_two_captures_into_one_pool_are_never_wrong(impl: Adapter) -> None:
    """Whichever of the two captures ended without an error replays right."""
    source = impl.full(SIZE, 1.0)
    tried = attempt(impl, source, impl.graph_pool_handle())
    try:
        for value in (5.0, -12.0, 0.5):
            source.fill_(value)
            for name, graph, out, steps in (
                ("first", tried.first, tried.first_out, 7),
                ("second", tried.second, tried.second_out, 6),
            ):
                if name in tried.errors or out is None:
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
        discard(tried.first, tried.second)


@requirement("pools.refused-concurrent-harmless")
def test_a_refused_second_capture_leaves_the_first_alone(impl: Adapter) -> None:
    """The first capture ends without an error and replays right when the second was refused at once."""
    source = impl.full(SIZE, 1.0)
    tried = attempt(impl, source, impl.graph_pool_handle())
    try:
        expect(
            tried.begun or "first" not in tried.errors,
            "refusing a second capture into a pool leaves the first capture alone",
            f"the first capture failed too: {tried.errors.get('first')}",
        )
        if tried.first_out is None or "first" in tried.errors:
            return
        for value in (5.0, -12.0, 0.5):
            source.fill_(value)
            tried.first_out.fill_(POISON)
            replay(impl, tried.first)
            expect_equal(impl, tried.first_out, value + 7, "the first of two captures into one pool replays right")
    finally:
        discard(tried.first, tried.second)


@requirement("pools.usable-after-concurrent")
def test_the_pool_is_usable_after_the_attempt(impl: Adapter) -> None:
    """A later capture into the same pool, on its own, works."""
    source = impl.full(SIZE, 1.0)
    keeper, kept = capture_chain(impl, source, 2)
    tried = attempt(impl, source, keeper.pool())
    discard(tried.first, tried.second)
    graph, out = expect_no_raise(
        "a pool takes further captures after two were attempted at once",
        lambda: capture_chain(impl, source, 5, pool=keeper.pool()),
    )
    for value in (5.0, -12.0, 0.5):
        source.fill_(value)
        kept.fill_(POISON)
        out.fill_(POISON)
        replay(impl, keeper)
        replay(impl, graph)
        expect_equal(impl, kept, value + 2, "the graph captured before the attempt replays right")
        expect_equal(impl, out, value + 5, "the graph captured after the attempt replays right")
