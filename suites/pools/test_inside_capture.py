"""Memory that is freed and used again inside one capture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from conformance.adapter import Adapter
from conformance.checks import expect_equal
from conformance.markers import requirement
from suites.support.captures import captured, replay
from suites.support.programs import POISON, SIZE


@requirement("pools.reuse-inside-capture")
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.float64], ids=["float32", "int64", "float64"])
def test_temporaries_that_replace_each_other(impl: Adapter, dtype: torch.dtype) -> None:
    """A recurrence that keeps two values alive and drops the third at every step."""
    first, second = impl.full((3, 5), 1, dtype), impl.full((3, 5), 1, dtype)

    def recurrence() -> torch.Tensor:
        older, newer = first + 0, second + 0
        for _ in range(20):
            older, newer = newer, older + newer
        return newer

    graph, out = captured(impl, recurrence)
    for start in ((1, 1), (-2, 5), (0, 3)):
        first.fill_(start[0])
        second.fill_(start[1])
        out.fill_(-99)
        replay(impl, graph, 2)
        older, newer = start
        for _ in range(20):
            older, newer = newer, older + newer
        expect_equal(impl, out, newer, "memory used again inside a capture does not change the result")


@requirement("pools.reuse-inside-capture")
def test_temporaries_of_many_sizes(impl: Adapter) -> None:
    """Blocks are split and joined inside the capture while one early value must survive."""
    source = impl.full(1031, 1.0)

    def body() -> torch.Tensor:
        early = source * 3
        total = source * 0
        for size in (1031, 5, 37, 517, 3, 1031, 257):
            piece = source[:size] + 1
            doubled = piece * 2
            del piece
            total = total + torch.nn.functional.pad(doubled, (0, 1031 - size))
        return total + early

    graph, out = captured(impl, body)
    counts = sum((torch.arange(1031) < size).to(torch.float32) for size in (1031, 5, 37, 517, 3, 1031, 257))
    for value in (2.0, -5.0, 0.5):
        source.fill_(value)
        out.fill_(POISON)
        replay(impl, graph, 2)
        expect_equal(
            impl,
            out,
            counts * (2 * (value + 1)) + 3 * value,
            "blocks split and joined inside a capture keep their values",
        )


@requirement("pools.reuse-inside-capture")
def test_temporaries_held_to_the_end_and_dropped_after(impl: Adapter) -> None:
    """Dropping every captured tensor after the capture changes nothing for the replays."""
    source = impl.full(SIZE, 1.0)
    result = impl.full(SIZE, POISON)

    def body() -> list[torch.Tensor]:
        values = [source + step for step in range(6)]
        result.copy_(values[5] - values[1])
        result.mul_(values[2])
        return values

    graph, values = captured(impl, body)
    del values
    for value in (4.0, -3.0, 11.0):
        source.fill_(value)
        result.fill_(POISON)
        replay(impl, graph, 2)
        expect_equal(impl, result, 4 * (value + 2), "the graph keeps the memory of tensors dropped after the capture")


@requirement("pools.view-keeps-memory")
def test_a_view_keeps_its_bases_memory(impl: Adapter) -> None:
    """The base is deleted inside the capture, the view is read at its end."""
    source = impl.full((3, 5), 1.0)

    def body() -> torch.Tensor:
        base = source * 2
        view = base.t()[1:]
        del base
        fillers = [source + 100 for _ in range(4)]
        return view + fillers[0].t()[1:] - 100

    graph, out = captured(impl, body)
    for value in (6.0, -1.5, 40.0):
        source.fill_(value)
        out.fill_(POISON)
        replay(impl, graph, 2)
        expect_equal(impl, out, 3 * value, "a view keeps the memory of its deleted base inside a capture")


@requirement("pools.reuse-observed")
def test_whether_freed_memory_is_used_again(impl: Adapter, observe: Callable[[str, Any], None]) -> None:
    """Record whether the next tensor of the same size gets the address of a freed one."""
    source = impl.full(SIZE, 1.0)

    def body() -> tuple[bool, torch.Tensor]:
        temporary = source + 1
        address = temporary.data_ptr()
        del temporary
        out = source + 2
        return out.data_ptr() == address, out

    _, (again, _) = captured(impl, body)
    observe("freed_memory_used_again", again)
