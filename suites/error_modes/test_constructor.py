"""What a mode that is given at construction refuses, by either way to capture.

A backend may make something else of a mode: then it refuses it, or warns of it, and nothing is asked of the mode.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect, expect_raises, is_refusal
from conformance.errors import Unsupported
from conformance.markers import needs, requirement
from suites.error_modes.programs import every_mode, refusing_mode
from suites.support.captures import BOTH_WAYS, capture_by, open_capture
from suites.support.disturbances import device_synchronize, host_read
from suites.support.modes import MODES, unsafe, unsafe_elsewhere
from suites.support.outcomes import caught, in_words
from suites.support.programs import Affine
from suites.support.streams import stream_kept

not_refusing_others = pytest.mark.parametrize("mode", ["thread_local", "relaxed"])


@dataclass(frozen=True)
class Disturbed:
    """A capture in which a call was made.

    Attributes:
        program: what was captured.
        graph: that captured it.
        refusal: what the call raised.
        ending: what the end of the capture raised.
    """

    program: Affine
    graph: Any
    refusal: Exception | None
    ending: Exception | None

    def __str__(self) -> str:
        return f"the call inside the capture: {in_words(self.refusal)}; its end: {in_words(self.ending)}"

    def check(self, impl: Adapter, promise: str) -> None:
        """Reject unless the capture was whole, or has left nothing that could be replayed."""
        if self.ending is None:
            self.program.check(impl, self.graph, promise)
        else:
            expect_raises("a graph whose capture ended with an error refuses to replay", self.graph.replay)


def _captured(impl: Adapter, way: str, mode: str | None, call: Callable[[], Any]) -> tuple[Disturbed, bool, list[Any]]:
    """A capture in `mode` with the `call` in it, whether the mode was taken, and the warnings."""
    program = Affine(impl)
    graphs: list[Any] = []
    refusals: list[Exception | None] = []

    def body() -> None:
        program.body()
        refusals.append(caught(call))

    def capture() -> None:
        graph = impl.new_graph(mode=mode)
        graphs.append(graph)
        if way == "context":
            capture_by(impl, way, graph, body)
            return
        with open_capture(impl, graph):
            body()
            graph.capture_end()

    with stream_kept(impl), warnings.catch_warnings(record=True) as entries:
        warnings.simplefilter("always")
        ending = caught(capture)
    outcome = Disturbed(program, graphs[0] if graphs else None, refusals[0] if refusals else None, ending)
    return outcome, bool(refusals), entries


def _said(outcome: Disturbed, taken: bool, entries: list[Any]) -> str:
    """What an implementation said of the mode."""
    return "; ".join(sorted({str(entry.message) for entry in entries})) if taken else in_words(outcome.ending)


def disturbed(impl: Adapter, way: str, mode: str, call: Callable[[], Any]) -> Disturbed:
    """A capture in `mode`, honoured, with the `call` in it.

    Raises:
        Unsupported: the backend refuses the mode, or warns of what it makes of it.
    """
    usual = _said(*_captured(impl, way, "default", lambda: None))
    outcome, taken, entries = _captured(impl, way, mode, call)
    said = _said(outcome, taken, entries)
    if not taken or said != usual:
        raise Unsupported(f"the backend makes of the mode {mode!r} what it says itself: {said}")
    return outcome


@requirement("error-modes.accelerator-names-taken")
@BOTH_WAYS
@pytest.mark.parametrize("mode", ["default", *MODES])
def test_documented_name(impl: Adapter, way: str, mode: str) -> None:
    """A documented name is no wrong argument; a backend may have its reasons not to capture so."""
    program = Affine(impl)
    with stream_kept(impl), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        error = caught(lambda: capture_by(impl, way, impl.new_graph(mode=mode), program.body))
    expect(not isinstance(error, TypeError), f"{mode!r} is one of the documented modes", in_words(error))


@requirement("signatures.accelerator-mode", "error-modes.accelerator-left-out-is-default")
@needs("raw_allocation")
@BOTH_WAYS
@pytest.mark.parametrize("caller", ["own-thread", "other-thread"])
def test_default_is_the_default(impl: Adapter, caller: str, way: str) -> None:
    """What becomes of a call in the mode that is left out becomes of it in the one named default."""
    call = unsafe(impl) if caller == "own-thread" else unsafe_elsewhere(impl)
    left_out, one, _ = _captured(impl, way, None, call)
    named, other, _ = _captured(impl, way, "default", call)
    promise = "capture_error_mode is 'default' when it is left out: an unsafe call is allowed in both captures, or none"
    seen = f"left out: {left_out}; 'default': {named}"
    alike = (left_out.refusal is None, left_out.ending is None) == (named.refusal is None, named.ending is None)
    expect(one == other and (not one or alike), promise, seen)


@requirement("error-modes.accelerator-own-thread")
@needs("raw_allocation")
@BOTH_WAYS
@refusing_mode
def test_own_call_refused(impl: Adapter, way: str, mode: str) -> None:
    """The stricter modes refuse the capturing thread's own call."""
    outcome = disturbed(impl, way, mode, unsafe(impl))
    expect(is_refusal(outcome.refusal), f"{mode!r} prohibits unsafe calls of the capturing thread", str(outcome))


@requirement("error-modes.accelerator-own-thread")
@needs("raw_allocation")
@BOTH_WAYS
def test_own_call_allowed(impl: Adapter, way: str) -> None:
    """A relaxed capture lets it pass, and is whole."""
    outcome = disturbed(impl, way, "relaxed", unsafe(impl))
    promise = "'relaxed' allows the capturing thread to make unsafe calls"
    expect(outcome.refusal is None and outcome.ending is None, promise, str(outcome))
    outcome.program.check(impl, outcome.graph, promise)


@requirement("error-modes.accelerator-other-thread")
@needs("raw_allocation")
@BOTH_WAYS
@not_refusing_others
def test_foreign_call_allowed(impl: Adapter, way: str, mode: str) -> None:
    """What another thread does concerns neither of the laxer modes."""
    outcome = disturbed(impl, way, mode, unsafe_elsewhere(impl))
    promise = f"under {mode!r} an unsafe call of another thread works and leaves the capture whole"
    expect(outcome.refusal is None and outcome.ending is None, promise, str(outcome))
    outcome.program.check(impl, outcome.graph, promise)


@requirement("error-modes.accelerator-global-other-thread")
@needs("raw_allocation")
def test_foreign_call_in_global_mode(impl: Adapter, observe: Callable[[str, Any], None]) -> None:
    """Records what comes of it: errors may occur."""
    outcome = disturbed(impl, "begin-end", "global", unsafe_elsewhere(impl))
    observe("outcome", str(outcome))


@requirement("error-modes.accelerator-never-half")
@needs("raw_allocation")
@BOTH_WAYS
@every_mode
@pytest.mark.parametrize("caller", ["own-thread", "other-thread"])
def test_capture_is_whole_or_refused(impl: Adapter, caller: str, mode: str, way: str) -> None:
    """Whoever makes the call, and whatever comes of it: what is replayed afterwards is all that was captured."""
    call = unsafe(impl) if caller == "own-thread" else unsafe_elsewhere(impl)
    outcome = disturbed(impl, way, mode, call)
    outcome.check(impl, "a capture that ends without an error replays all of its work")


@requirement("error-modes.accelerator-conflicts-reported")
@every_mode
@pytest.mark.parametrize("conflict", [host_read, device_synchronize], ids=["host-read", "synchronize"])
def test_conflict(impl: Adapter, conflict: Callable[[Adapter], Callable[[], Any]], mode: str) -> None:
    """No mode permits to wait inside a capture for what the capture holds."""
    outcome = disturbed(impl, "begin-end", mode, conflict(impl))
    promise = "a host read or a synchronisation inside a capture raises in every mode"
    expect(is_refusal(outcome.refusal) or is_refusal(outcome.ending), promise, str(outcome))
    outcome.check(impl, "a capture that ends without an error replays all of its work")
