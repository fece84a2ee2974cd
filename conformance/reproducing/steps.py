"""A script that a test writes as it goes: each call as it is made, in plain Python.

The words that its lines may use besides Python's and torch's are those of `conformance.reproducing.preamble`.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any

import torch

_ATTRIBUTE = "reproducer_steps"


class Steps:
    """Lines of a script, in order."""

    def __init__(self) -> None:
        self._words: dict[str, None] = {}
        self._lines: list[str] = []
        self._depth = 0

    def word(self, function: Callable[..., Any]) -> str:
        """Let the script have a function of the suites, with all that it needs; return the name to call it by."""
        self._words[f"from {function.__module__} import {function.__name__}"] = None
        return function.__name__

    def line(self, text: str) -> None:
        """Add a line at the present depth."""
        self._lines.append("    " * self._depth + text)

    def enter(self, head: str) -> None:
        """Add the head of a block; what follows is inside."""
        self.line(head)
        self._depth += 1

    def leave(self) -> None:
        """End the innermost block."""
        self._depth -= 1

    @contextlib.contextmanager
    def block(self, head: str) -> Iterator[None]:
        """A block around what the ``with`` statement's body adds."""
        self.enter(head)
        try:
            yield
        finally:
            self.leave()

    def text(self) -> str:
        """The script so far."""
        # A block that was entered last has no body yet.
        unfinished = self._lines[-1:] and self._lines[-1].rstrip().endswith(":")
        return "\n".join([*self._words, *self._lines, *(["    " * self._depth + "pass"] if unfinished else [])])


def attach(error: BaseException, steps: str) -> None:
    """Let `error` carry the steps that lead to it."""
    setattr(error, _ATTRIBUTE, steps)


def steps_of(error: BaseException) -> str | None:
    """The steps that `error` carries."""
    found = getattr(error, _ATTRIBUTE, None)
    return found if isinstance(found, str) else None


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
