"""Every way to use a tensor makes it an input: dead it stops the replay, alive it does not."""

from __future__ import annotations

import pytest

from conformance.adapter import Adapter
from conformance.markers import requirement
from suites.support.liveness import checked, expect_alive
from suites.support.programs import POISON, SIZE
from suites.support.uses import (
    USES,
    check_death,
)


@requirement("liveness.dead-input")
@pytest.mark.parametrize("use", ["condition", "copy-source"])
def test_plain_arguments_are_inputs(impl: Adapter, use: str) -> None:
    """An operator's own argument, other than the first summand."""
    check_death(impl, use)


@requirement("liveness.dead-input")
@pytest.mark.parametrize("use", ["zero-dimensional", "one-element", "large", "strided", "requires-grad"])
def test_tensors_of_every_shape_are_inputs(impl: Adapter, use: str) -> None:
    """Neither its size nor its layout, nor that autograd looks at it, makes a tensor less of an input."""
    check_death(impl, use)


@requirement("liveness.tracks-lists")
@pytest.mark.parametrize("use", ["cat", "stack", "foreach", "index"])
def test_tensors_in_lists_are_inputs(impl: Adapter, use: str) -> None:
    """Operators that take lists of tensors, or of indices."""
    check_death(impl, use)


@requirement("liveness.tracks-keywords")
@pytest.mark.parametrize("use", ["keyword", "optional-keyword"])
def test_tensors_by_keyword_are_inputs(impl: Adapter, use: str) -> None:
    """Tensors passed by name, required or optional."""
    check_death(impl, use)


@requirement("liveness.tracks-destinations")
@pytest.mark.parametrize("use", ["out", "in-place"])
def test_destinations_are_inputs(impl: Adapter, use: str) -> None:
    """Tensors that the captured work only writes."""
    check_death(impl, use)


@requirement("liveness.tracks-views")
@pytest.mark.parametrize("use", ["view-inside", "view-before", "transposed"])
def test_views_make_their_storage_an_input(impl: Adapter, use: str) -> None:
    """A part of a tensor stands for the whole storage."""
    check_death(impl, use)


@requirement("liveness.living-inputs")
@pytest.mark.parametrize(
    "use", ["foreach", "index", "optional-keyword", "out", "view-before", "zero-dimensional", "strided"]
)
def test_living_inputs_raise_no_alarm(impl: Adapter, use: str) -> None:
    """Replays with every input alive compute right results, while other tensors come and go."""
    program = USES[use]
    one, out = impl.full(SIZE, 1.0), impl.full(SIZE, POISON)
    inputs = [program.prepare(impl)]
    graph, _ = checked(impl, lambda: program.body(one, out, inputs))
    for _ in range(3):
        temporaries = [impl.full(SIZE, 8.0) for _ in range(3)]
        expect_alive(impl, graph, out, program.expected, f"used as {use}")
        del temporaries
