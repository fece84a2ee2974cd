"""Arguments that a call does not take."""

from __future__ import annotations

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect_raises
from conformance.markers import requirement
from suites.misuse.programs import captured
from suites.support.programs import Affine


@requirement("misuse.unknown-argument-refused")
@pytest.mark.parametrize("method", ["replay", "reset"])
def test_unknown_argument(impl: Adapter, method: str) -> None:
    """A call with an argument that no document names is refused and does nothing: the graph is there afterwards."""
    program = Affine(impl)
    with captured(impl, program) as graph:
        call = getattr(graph, method)
        expect_raises("an unknown argument is refused", lambda: call(no_such_setting=1))
        program.check(impl, graph, f"a graph replays after {method} was refused")
