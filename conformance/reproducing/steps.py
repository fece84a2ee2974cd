"""What leads to a failure, as an exception carries it; values in Python's syntax."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

_ATTRIBUTE = "reproducer_steps"


def attach(error: BaseException, steps: str) -> None:
    """Let `error` carry the steps that lead to it."""
    setattr(error, _ATTRIBUTE, steps)


def steps_of(error: BaseException) -> str | None:
    """The steps that `error` carries."""
    steps = getattr(error, _ATTRIBUTE, None)
    return steps if isinstance(steps, str) else None


def literal(values: torch.Tensor) -> str:
    """A CPU tensor as nested lists in Python's syntax."""
    return _written(values.tolist())


def constant(values: torch.Tensor) -> str:
    """A CPU tensor in Python's syntax, with its shape and type."""
    if values.numel() == 0:  # lists would lose the shape
        return f"torch.zeros({tuple(values.shape)}, dtype={values.dtype})"
    return f"torch.tensor({literal(values)}, dtype={values.dtype})"


def _written(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    # Python writes nan and inf without a name for them.
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    if isinstance(value, complex) and not (math.isfinite(value.real) and math.isfinite(value.imag)):
        return f"complex({_written(value.real)}, {_written(value.imag)})"
    return repr(value)
