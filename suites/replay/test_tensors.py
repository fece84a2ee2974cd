"""Dtypes, layouts and sizes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_no_raise
from conformance.errors import Unsupported
from conformance.markers import requirement
from suites.support.captures import captured, replay
from suites.support.eager import run_eagerly
from suites.support.programs import ramp

DTYPES = [
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.int8,
    torch.uint8,
    torch.int32,
    torch.int64,
    torch.bool,
]


def _tensor(impl: Adapter, values: torch.Tensor) -> torch.Tensor:
    """The values on the device, if it has tensors of their dtype."""
    try:
        return impl.tensor(values)
    except Exception as error:
        raise Unsupported(f"the device has no {values.dtype}: {type(error).__name__}: {error}") from error


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: str(dtype).removeprefix("torch."))
@requirement("replay.dtypes")
def test_dtype(impl: Adapter, dtype: torch.dtype) -> None:
    """Copies (of one element too), concatenation and comparison are replayed for every dtype, sums for the numeric."""
    numeric = dtype is not torch.bool

    def program(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        doubled = x + x if numeric else x.logical_not()
        return (x.clone(), torch.cat((x, x[:3])), x != 0, doubled, x[1].clone(), (x > 2).any())

    def values(start: int) -> torch.Tensor:
        counts = torch.arange(start, start + 37)
        return (counts if numeric else counts % 3 == 0).to(dtype)

    x = _tensor(impl, values(0))
    run_eagerly(impl, f"work on {dtype}", lambda: program(x))
    graph, outputs = captured(impl, lambda: program(x))
    for start in (1, 5, 14):
        x.copy_(impl.tensor(values(start)))
        for output in outputs:
            output.fill_(1)
        replay(impl, graph)
        for output, expected in zip(outputs, program(values(start)), strict=True):
            expect(output.dtype == expected.dtype, "a captured output has its operator's dtype", f"{output.dtype}")
            expect_equal(impl, output, expected, f"work on {dtype} is replayed")


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex64, torch.int16], ids=["float64", "complex64", "int16"])
@requirement("replay.dtypes")
def test_dtype_that_a_device_may_lack(impl: Adapter, dtype: torch.dtype) -> None:
    """What a device can do with such a dtype outside of a capture is replayed too."""
    values = [torch.arange(start, start + 37).to(dtype) for start in (0, 1, 5, 14)]
    x = _tensor(impl, values[0])
    run_eagerly(impl, f"work on {dtype}", lambda: (x + x, x.clone()))
    graph, (doubled, copied) = captured(impl, lambda: (x + x, x.clone()))
    for value in values[1:]:
        x.copy_(impl.tensor(value))
        doubled.fill_(1)
        copied.fill_(1)
        replay(impl, graph)
        expect_equal(impl, doubled, value + value, f"work on {dtype} is replayed")
        expect_equal(impl, copied, value, f"work on {dtype} is replayed")


@pytest.mark.parametrize("bit", ["conjugate", "negative"])
@requirement("replay.dtypes")
def test_lazy_bits_of_a_complex_tensor(impl: Adapter, bit: str) -> None:
    """A view that only says that it is to be read conjugated, or negated, is read that way in each replay."""
    views: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
        "conjugate": torch.conj,
        "negative": lambda values: values.conj().imag,
    }
    view = views[bit]
    values = [torch.complex(ramp((37,), start), ramp((37,), -2 * start)) for start in (0, 1, 5, 14)]
    x = _tensor(impl, values[0])
    lazy = view(x)
    run_eagerly(impl, f"work on a {bit} view", lambda: (lazy + lazy, lazy.clone(), lazy * 2j))
    graph, (doubled, copied, turned) = captured(impl, lambda: (lazy + lazy, lazy.clone(), lazy * 2j))
    for value in values[1:]:
        x.copy_(impl.tensor(value))
        for output in (doubled, copied, turned):
            output.fill_(1)
        replay(impl, graph)
        expected = view(value).resolve_neg().resolve_conj()
        expect_equal(impl, doubled, expected + expected, f"a {bit} view is read as one")
        expect_equal(impl, copied, expected, f"a {bit} view is read as one")
        expect_equal(impl, turned, expected * 2j, f"a {bit} view is read as one")


#: How to view a contiguous tensor of shape (2, 3, 4, 6).
LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "contiguous": lambda base: base,
    "channels-last": lambda base: base.contiguous(memory_format=torch.channels_last),
    "transposed": lambda base: base.transpose(1, 3),
    "strided": lambda base: base[:, ::2, 1:, ::3],
    "offset": lambda base: base.view(-1)[5:42],
    "of-seven-dimensions": lambda base: base.view(2, 3, 2, 2, 3, 2, 1).permute(5, 0, 3, 1, 6, 2, 4),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@requirement("replay.layouts")
def test_layout(impl: Adapter, layout: str) -> None:
    """Inputs of any layout are read correctly, outputs have the layout that eager work gives, writes keep to it."""
    shape = (2, 3, 4, 6)
    x = LAYOUTS[layout](impl.full(shape, 0.0))
    target = LAYOUTS[layout](impl.full(shape, 0.0))

    def body() -> torch.Tensor:
        target.copy_(x)
        target.mul_(3.0)
        return x * 2.0

    graph, y = captured(impl, body)
    host = LAYOUTS[layout](ramp(shape))
    expect(y.stride() == (host * 2.0).stride(), "a captured output has its operator's strides", f"{y.stride()}")
    for start in (1, 100, -77):
        now = LAYOUTS[layout](ramp(shape, start))
        x.copy_(impl.tensor(now))
        y.fill_(-1.0)
        target.fill_(-1.0)
        replay(impl, graph)
        expect_equal(impl, y, now * 2.0, f"a replay reads a {layout} input")
        expect_equal(impl, target, now * 3.0, f"a replay writes a {layout} destination")


@requirement("replay.layouts")
def test_strided_write_keeps_the_gaps(impl: Adapter) -> None:
    """A replay that writes a strided view leaves the elements between alone."""
    base, x = impl.full((5, 7), 0.0), impl.full((5, 4), 0.0)
    graph, _ = captured(impl, lambda: base[:, ::2].copy_(x))
    for value in (1.0, 2.0, 3.0):
        base.fill_(-value)
        x.fill_(value)
        replay(impl, graph)
        expected = torch.full((5, 7), -value)
        expected[:, ::2] = value
        expect_equal(impl, base, expected, "a strided write leaves the elements between alone")


@requirement("replay.layouts")
def test_expanded_input(impl: Adapter) -> None:
    """An expanded tensor is read as its one row, changed between replays."""
    row = impl.full((1, 5), 0.0)
    graph, y = captured(impl, lambda: row.expand(3, 5) + 1.0)
    for start in (0, 8, -30):
        now = ramp((1, 5), start)
        row.copy_(impl.tensor(now))
        y.fill_(-1.0)
        replay(impl, graph)
        expect_equal(impl, y, now.expand(3, 5) + 1.0, "a replay reads an expanded input")


@requirement("replay.layouts")
def test_zero_dimensional(impl: Adapter) -> None:
    """Scalars on the device are inputs, factors and outputs like other tensors."""
    scale, x = impl.full((), 1.0), impl.tensor(ramp((3, 5)))
    graph, (y, squared) = captured(impl, lambda: (x * scale, scale * scale))
    expect(squared.dim() == 0, "a captured scalar has no dimensions", f"{squared.dim()}")
    for value in (2.0, -3.0, 0.5):
        scale.fill_(value)
        y.fill_(-1.0)
        squared.fill_(-1.0)
        replay(impl, graph)
        expect_equal(impl, y, ramp((3, 5)) * value, "a replay reads the present value of a scalar")
        expect_equal(impl, squared, value * value, "a replay writes a scalar output")


@requirement("replay.zero-size")
def test_tensors_without_elements(impl: Adapter) -> None:
    """Operators on empty tensors stand next to others in a capture and change nothing."""
    none, x = impl.full((0, 5), 1.0), impl.full((3, 5), 0.0)

    def body() -> tuple[torch.Tensor, ...]:
        empty = none * 2.0 + 1.0
        none.fill_(3.0)
        return empty, torch.cat((empty, x)), x + none.sum()

    promise = "operators on tensors without elements can be captured"
    graph, (empty, joined, summed) = expect_no_raise(promise, lambda: captured(impl, body))
    for start in (1, 12, -6):
        now = ramp((3, 5), start)
        x.copy_(impl.tensor(now))
        joined.fill_(-1.0)
        summed.fill_(-1.0)
        replay(impl, graph)
        expect(empty.shape == (0, 5), "an output without elements keeps its shape", f"{tuple(empty.shape)}")
        expect_equal(impl, joined, now, "work next to a tensor without elements is replayed")
        expect_equal(impl, summed, now, "the sum over no elements is zero in a replay")
