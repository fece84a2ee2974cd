"""Tensors written into scripts come back as they were."""

from __future__ import annotations

import pytest
import torch

from conformance.reproducing.steps import constant

INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize(
    "values",
    [
        torch.tensor([[1.5, -INF], [NAN, 0.0]]),
        torch.tensor([complex(INF, NAN), complex(1.0, -2.0)]),
        torch.tensor([True, False]),
        torch.tensor(7, dtype=torch.int64),
        torch.zeros((0, 5), dtype=torch.bfloat16),
    ],
    ids=["floats", "complex", "booleans", "no-dimension", "no-elements"],
)
def test_constant(values: torch.Tensor) -> None:
    """Shape, type and values, those without a literal among them."""
    back = eval(constant(values))  # noqa: S307  # the text is what is tested
    assert back.dtype is values.dtype
    assert back.shape == values.shape
    assert torch.equal(torch.nan_to_num(back), torch.nan_to_num(values))
