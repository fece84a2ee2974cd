"""Graphs brought into each state that a call can meet them in."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.errors import Unsupported
from suites.support.captures import open_capture
from suites.support.disturbances import Attempt, attempt, device_synchronize
from suites.support.programs import Affine

#: A graph in a state, for as long as a ``with`` block lasts; it captured the program if its state has captured.
State = Callable[[Adapter, Affine], AbstractContextManager[Any]]


def _capture(impl: Adapter, program: Affine, *, keep_graph: bool | None) -> Any:
    graph = impl.new_graph(keep_graph)
    with open_capture(impl, graph):
        program.body()
        graph.capture_end()
    return graph


@contextlib.contextmanager
def new(impl: Adapter, _program: Affine) -> Iterator[Any]:
    """Nothing captured yet."""
    yield impl.new_graph()


@contextlib.contextmanager
def new_keep(impl: Adapter, _program: Affine) -> Iterator[Any]:
    """Nothing captured yet, will keep its template."""
    yield impl.new_graph(keep_graph=True)


@contextlib.contextmanager
def capturing(impl: Adapter, program: Affine) -> Iterator[Any]:
    """In the middle of its capture."""
    graph = impl.new_graph()
    with open_capture(impl, graph):
        program.body()
        yield graph


@contextlib.contextmanager
def capturing_keep(impl: Adapter, program: Affine) -> Iterator[Any]:
    """In the middle of its capture, will keep its template."""
    graph = impl.new_graph(keep_graph=True)
    with open_capture(impl, graph):
        program.body()
        yield graph


@contextlib.contextmanager
def captured(impl: Adapter, program: Affine) -> Iterator[Any]:
    """Captured: an executable, no template."""
    yield _capture(impl, program, keep_graph=None)


@contextlib.contextmanager
def template(impl: Adapter, program: Affine) -> Iterator[Any]:
    """Captured with keep_graph=True: a template, no executable."""
    yield _capture(impl, program, keep_graph=True)


@contextlib.contextmanager
def instantiated(impl: Adapter, program: Affine) -> Iterator[Any]:
    """Captured with keep_graph=True and instantiated: template and executable."""
    graph = _capture(impl, program, keep_graph=True)
    graph.instantiate()
    yield graph


@contextlib.contextmanager
def reset(impl: Adapter, program: Affine) -> Iterator[Any]:
    """Captured, then reset."""
    graph = _capture(impl, program, keep_graph=None)
    graph.reset()
    yield graph


@contextlib.contextmanager
def reset_keep(impl: Adapter, program: Affine) -> Iterator[Any]:
    """Captured with keep_graph=True and instantiated, then reset."""
    graph = _capture(impl, program, keep_graph=True)
    graph.instantiate()
    graph.reset()
    yield graph


def _failure(outcome: Attempt) -> Attempt:
    """`outcome`, of a capture that failed.

    Raises:
        Unsupported: it did not, so that there is no failed graph: a class may refuse a call and keep the capture whole.
    """
    if outcome.ending is None:
        raise Unsupported(f"a synchronisation inside it makes no capture fail; {outcome}")
    return outcome


@contextlib.contextmanager
def failed(impl: Adapter, program: Affine) -> Iterator[Any]:
    """Its capture failed."""
    yield _failure(attempt(impl, program.body, device_synchronize(impl))).graph


@contextlib.contextmanager
def failed_keep(impl: Adapter, program: Affine) -> Iterator[Any]:
    """Its capture failed, it would have kept its template."""
    yield _failure(attempt(impl, program.body, device_synchronize(impl), keep_graph=True)).graph


def in_states(*states: State) -> pytest.MarkDecorator:
    """Run a test once for each state, under the state's name."""
    return pytest.mark.parametrize("state", [pytest.param(state, id=name(state)) for state in states])


def name(state: State) -> str:
    """A state's name, for test ids and messages."""
    return str(getattr(state, "__name__", state)).replace("_", "-")
