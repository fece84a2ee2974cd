"""Kinds of operators: each is captured with its inputs, its outputs and its side effects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import pytest
import torch
from torch import _foreach_add, _foreach_add_, _foreach_mul_  # optimizers are made of these

from conformance.adapter import Adapter
from conformance.checks import expect_equal, expect_no_raise
from conformance.markers import requirement
from suites.support.captures import captured, replay
from suites.support.eager import captured_after_eager, run_eagerly
from suites.support.programs import ramp

SHAPE = (3, 5)


class Arguments(NamedTuple):
    """What a program works on: it may write any of them."""

    x: torch.Tensor
    y: torch.Tensor
    out: torch.Tensor


#: Returns the tensors that it made.
Program = Callable[[Arguments], Sequence[torch.Tensor]]


def _in_place(at: Arguments) -> Sequence[torch.Tensor]:
    at.x.mul_(2.0)
    at.y.add_(at.x)
    at.out.zero_().sub_(at.y)
    return ()


def _out(at: Arguments) -> Sequence[torch.Tensor]:
    torch.add(at.x, at.y, out=at.out)
    torch.mul(at.out, at.x, out=at.out)
    return ()


def _growing_out(at: Arguments) -> Sequence[torch.Tensor]:
    total, largest, smallest = (at.x.new_empty(0) for _ in range(3))
    torch.amin(at.y, dim=(0, 1), out=smallest)
    # What was only needed in between is as good as any temporary: the graph goes on using its memory.
    return torch.add(at.x, at.y, out=total), total, torch.amax(at.x, dim=(0, 1), out=largest), smallest + 1.0


def _resized(at: Arguments) -> Sequence[torch.Tensor]:
    less, more, counts = at.x + at.y, at.x * at.y, at.x.to(torch.int64)
    less.resize_(2, 4)
    for tensor in (more, counts):
        tensor.resize_(5, 5)[3:].fill_(4)
    return less, more, counts


def _copy(at: Arguments) -> Sequence[torch.Tensor]:
    at.out.copy_(at.x)
    at.x.copy_(at.y)
    return ()


def _converting_copy(at: Arguments) -> Sequence[torch.Tensor]:
    counts = at.x.to(torch.int32)
    at.out.copy_(counts)
    return counts, torch.zeros_like(counts).copy_(at.y)


def _indexed(at: Arguments) -> Sequence[torch.Tensor]:
    index = at.x.argmin(dim=1, keepdim=True)
    at.out.scatter_(1, at.x.argmax(dim=1, keepdim=True), at.y)
    return index, at.y.gather(1, index)


def _masked(at: Arguments) -> Sequence[torch.Tensor]:
    at.out.masked_fill_(at.x > at.y, 3.0)
    return (torch.where(at.x > at.y, at.x, at.y),)


def _split(at: Arguments) -> Sequence[torch.Tensor]:
    return [part + 1.0 for part in torch.split(torch.cat((at.x, at.y), dim=1), [4, 6], dim=1)]


def _foreach_new(at: Arguments) -> Sequence[torch.Tensor]:
    sums: Sequence[torch.Tensor] = _foreach_add([at.x, at.y], 1.5)
    return sums


def _foreach_in_place(at: Arguments) -> Sequence[torch.Tensor]:
    _foreach_mul_([at.x, at.y], 2.0)
    _foreach_add_([at.out, at.x], [at.y, at.y])
    return ()


def _single_bytes(at: Arguments) -> Sequence[torch.Tensor]:
    above, all_above = (at.x > at.y).any(), (at.x > at.y).all()
    return above, all_above, above.logical_xor(all_above), at.x.sum() > 0.0


PROGRAMS: dict[str, Program] = {
    "functional": lambda at: (at.x * 2.0 + at.y, at.x * at.y[:1], at.x > at.y),
    "in-place": _in_place,
    "out": _out,
    "growing-out": _growing_out,
    "resized": _resized,
    "copy": _copy,
    "converting-copy": _converting_copy,
    "cast": lambda at: (at.x.to(torch.int32), at.x.to(torch.float16) + at.y.to(torch.float16)),
    "masked": _masked,
    "reduction": lambda at: (at.x.sum(), at.y.sum(dim=1), at.x.amax(dim=0), at.y.cumsum(dim=1)),
    "single-bytes": _single_bytes,
    "multi-output": lambda at: (*torch.max(at.x, dim=1), *torch.aminmax(at.y, dim=0)),
    "sort": lambda at: tuple(torch.sort(at.x, dim=1)),
    "indexed": _indexed,
    "split": _split,
    "foreach": _foreach_new,
    "foreach-in-place": _foreach_in_place,
}


def _vacant(impl: Adapter) -> Arguments:
    return Arguments(*(impl.full(SHAPE, 0.0) for _ in range(3)))


@pytest.mark.parametrize("kind", PROGRAMS)
@requirement("capture.operators")
def test_operator_is_taken(impl: Adapter, kind: str) -> None:
    """What runs eagerly without waiting is captured."""
    program, arguments = PROGRAMS[kind], _vacant(impl)
    run_eagerly(impl, f"a {kind} program", lambda: program(arguments))
    expect_no_raise(f"a {kind} program is captured", lambda: captured(impl, lambda: program(arguments)))


@pytest.mark.parametrize("kind", PROGRAMS)
@requirement("replay.performs-work")
def test_operator(impl: Adapter, kind: str) -> None:
    """Replays on changed inputs give what an eager run on the host gives, for results and for written arguments."""
    program, arguments = PROGRAMS[kind], _vacant(impl)
    graph, results = captured_after_eager(impl, f"a {kind} program", lambda: program(arguments))
    for start in (1, 40, -13):
        # Neither input is sorted, so that positions found by an operator differ between replays.
        inputs = (ramp(SHAPE, start).roll(start % 7 + 1), ramp(SHAPE, start - 5).flip(1) * 2.0, ramp(SHAPE, 7))
        host_inputs = tuple(tensor.clone() for tensor in inputs)
        host_results = program(Arguments(*host_inputs))
        for tensor, value in zip(arguments, inputs, strict=True):
            tensor.copy_(impl.tensor(value))
        for result in results:
            result.fill_(1)
        replay(impl, graph)
        for number, (result, expected) in enumerate(zip(results, host_results, strict=True)):
            expect_equal(impl, result, expected, f"a replay gives result {number} of a captured {kind} program")
        for name, tensor, expected in zip(Arguments._fields, arguments, host_inputs, strict=True):
            expect_equal(impl, tensor, expected, f"a replay leaves argument {name} as a {kind} program does")
