"""Graphs in each mode and state that a reset can meet them in."""

from __future__ import annotations

import gc

import pytest

from conformance.markers import requirement
from suites.support.memory import YOUNG
from suites.support.states import HELD_STATES


def collect_garbage() -> None:
    """Collect what the test has just dropped; the old objects of the process would take long and are left out."""
    gc.collect(YOUNG)


def each_mode(identifier: str) -> pytest.MarkDecorator:
    """Run a test on a graph made without arguments and on one with keep_graph=True.

    The latter also decides the requirement `identifier`, so a class without keep_graph is asked only for the former.
    """
    return pytest.mark.parametrize(
        "keep_graph",
        [pytest.param(None, id="not-kept"), pytest.param(True, id="kept", marks=requirement(identifier))],
    )


def each_state(identifier: str, states: tuple[str, ...] = HELD_STATES) -> pytest.MarkDecorator:
    """Run a test on a graph in each of `states`; those that need keep_graph=True also decide `identifier`."""
    mark = requirement(identifier)
    return pytest.mark.parametrize(
        "state", [pytest.param(state, marks=() if state == "executable-only" else (mark,)) for state in states]
    )
