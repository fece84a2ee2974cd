"""What a capture cannot hold is reported, by the call or at the latest when the capture ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from conformance.adapter import Adapter
from conformance.checks import expect, is_refusal
from conformance.markers import requirement
from suites.failed_capture.programs import Spoiler, basic, foreign_event, spoil, unjoined_fork
from suites.support.disturbances import Attempt
from suites.support.programs import Affine


def expect_reported(outcome: Attempt, promise: str) -> None:
    """Reject unless the disturbing call, or at the latest the end of the capture, raised."""
    expect(is_refusal(outcome.refusal) or is_refusal(outcome.ending), promise, str(outcome))


def expect_whole_if_quiet(impl: Adapter, outcome: Attempt, program: Affine) -> None:
    """Reject a capture that ended without an error and does not compute everything captured."""
    if outcome.ending is None:
        program.check(impl, outcome.graph, "after a capture_end that did not raise, replay computes what was captured")


@requirement("failed-capture.forbidden-call-reported")
@basic
def test_forbidden_call(impl: Adapter, spoiler: Spoiler) -> None:
    """Reading a value that does not exist yet, or waiting for work that does not run, raises."""
    expect_reported(
        spoil(impl, spoiler, Affine(impl).body),
        "a host read or a synchronisation inside a capture raises, there or at capture_end",
    )


@requirement("failed-capture.forbidden-call-reported-in-every-mode")
@pytest.mark.parametrize("mode", ["thread_local", "relaxed"])
@basic
def test_forbidden_call_in_another_mode(impl: Adapter, spoiler: Spoiler, mode: str) -> None:
    """No mode permits to wait inside a capture for what the capture holds."""
    program = Affine(impl)
    outcome = spoil(impl, spoiler, program.body, mode=mode)
    expect_reported(outcome, "a host read or a synchronisation inside a capture raises in every mode")
    expect_whole_if_quiet(impl, outcome, program)


#: What the host has to learn from the device before it knows the size of the result.
SIZED_BY_VALUES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "nonzero": torch.nonzero,
    "index-by-mask": lambda x: x[x > 3.0],
    "index-put-by-mask": lambda x: x.index_put_((x > 3.0,), torch.ones_like(x)[:6]),
}


@requirement("failed-capture.forbidden-call-reported")
@pytest.mark.parametrize("operator", SIZED_BY_VALUES)
def test_size_that_depends_on_values(impl: Adapter, operator: str) -> None:
    """An operator whose result is as large as the values say reads them on the host, which raises."""

    def reads(impl: Adapter) -> Callable[[], Any]:
        x = impl.tensor(torch.arange(10.0))
        return lambda: SIZED_BY_VALUES[operator](x)

    expect_reported(
        spoil(impl, reads, Affine(impl).body),
        "a size that depends on values is read on the host, so it raises, there or at capture_end",
    )


@requirement("failed-capture.fork-reported")
def test_unjoined_fork(impl: Adapter) -> None:
    """A fork that never joins raises: what waits for the replay would not wait for it."""
    expect_reported(
        spoil(impl, unjoined_fork, Affine(impl).body),
        "forked work that never joins the capturing stream raises, at the latest in capture_end",
    )


@requirement("failed-capture.fork-reported")
def test_foreign_event(impl: Adapter) -> None:
    """A wait for what is no part of the capture raises, or is left out of a graph that is whole without it."""
    program = Affine(impl)
    outcome = spoil(impl, foreign_event, program.body)
    if is_refusal(outcome.refusal) or is_refusal(outcome.ending):
        return
    program.check(impl, outcome.graph, "a wait for work outside the capture raises, or does the graph no harm")


@requirement("failed-capture.quiet-end-is-replayable")
@basic
def test_quiet_end(impl: Adapter, spoiler: Spoiler) -> None:
    """The end of a capture raises, or hands over a graph that computes everything captured."""
    program = Affine(impl)
    expect_whole_if_quiet(impl, spoil(impl, spoiler, program.body), program)
