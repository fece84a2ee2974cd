"""What a capture cannot hold is reported, by the call or at the latest when the capture ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from conformance.adapter import Adapter
from conformance.checks import expect
from conformance.markers import requirement
from suites.failed_capture.programs import Spoiler, basic, forking, spoil
from suites.support.disturbances import Attempt, host_read
from suites.support.outcomes import in_words
from suites.support.programs import Affine


def expect_reported(outcome: Attempt, promise: str) -> None:
    """Reject unless the disturbing call, or at the latest the end of the capture, raised a RuntimeError."""
    is_reported = isinstance(outcome.refusal, RuntimeError) or isinstance(outcome.ending, RuntimeError)
    expect(is_reported, promise, str(outcome))


@requirement("failed-capture.forbidden-call-reported")
@basic
def test_forbidden_call(impl: Adapter, spoiler: Spoiler) -> None:
    """Reading a value that does not exist yet, or waiting for work that does not run, raises."""
    expect_reported(
        spoil(impl, spoiler, Affine(impl).body),
        "a host read or a synchronisation inside a capture raises a RuntimeError, there or at capture_end",
    )


@requirement("failed-capture.forbidden-call-reported", "error-modes.documented-modes-accepted")
@pytest.mark.parametrize("mode", ["thread_local", "relaxed"])
@basic
def test_forbidden_call_in_another_mode(impl: Adapter, spoiler: Spoiler, mode: str) -> None:
    """No mode permits to wait inside a capture for what the capture holds."""
    expect_reported(
        spoil(impl, spoiler, Affine(impl).body, mode=mode),
        "a host read or a synchronisation inside a capture raises a RuntimeError in every mode",
    )


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
        "a size that depends on values is read on the host, so it raises a RuntimeError, there or at capture_end",
    )


@requirement("failed-capture.fork-reported")
@forking
def test_fork(impl: Adapter, spoiler: Spoiler) -> None:
    """A fork that never joins, or a wait for what is no part of the capture, raises."""
    expect_reported(
        spoil(impl, spoiler, Affine(impl).body),
        "forked work that never joins, or a wait for work outside the capture, raises a RuntimeError by capture_end",
    )


@requirement("failed-capture.quiet-end-is-replayable")
@basic
def test_quiet_end(impl: Adapter, spoiler: Spoiler) -> None:
    """The end of a capture raises, or hands over a graph that computes everything captured."""
    program = Affine(impl)
    outcome = spoil(impl, spoiler, program.body)
    if outcome.ending is None:
        program.check(impl, outcome.graph, "after a capture_end that did not raise, replay computes what was captured")
        return
    expect(
        isinstance(outcome.ending, RuntimeError),
        "a capture_end that cannot hand over a graph raises a RuntimeError",
        in_words(outcome.ending),
    )


@requirement("failed-capture.end-raises")
@basic
def test_end_raises(impl: Adapter, spoiler: Spoiler) -> None:
    """A prohibited call invalidates the capture, and its end says so."""
    outcome = spoil(impl, spoiler, Affine(impl).body)
    expect(
        isinstance(outcome.ending, RuntimeError),
        "capture_end raises a RuntimeError after a call that a capture prohibits",
        str(outcome),
    )


@requirement("failed-capture.end-raises", "error-modes.documented-modes-accepted")
@pytest.mark.parametrize("mode", ["thread_local", "relaxed"])
def test_end_raises_in_another_mode(impl: Adapter, mode: str) -> None:
    """A host read waits for the capturing stream, which no mode permits: the capture is invalid."""
    outcome = spoil(impl, host_read, Affine(impl).body, mode=mode)
    expect(
        isinstance(outcome.ending, RuntimeError),
        "capture_end raises a RuntimeError after a host read inside the capture, in every mode",
        str(outcome),
    )
