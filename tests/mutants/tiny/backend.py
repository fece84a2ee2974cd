"""A graph class with a few lines of its own, small enough to know what becomes of each mutant."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from reference_impl import CUDAGraph


def counted(method: Callable[..., Any]) -> Callable[..., Any]:
    """Count the calls of a method."""

    @functools.wraps(method)
    def call(self: Counting, *args: Any) -> Any:
        self.calls = self.calls + 1
        return method(self, *args)

    return call


class Counting(CUDAGraph):
    """Counts its replays."""

    calls = 0

    @counted
    def replay(self) -> None:
        """Replay, and keep the count within a byte."""
        super().replay()
        if self.calls > 255:
            self.calls = 0

    @property
    def even(self) -> bool:
        """Whether the count is even."""
        return self.calls % 2 == 0

    def never(self) -> int:
        """What no test calls."""
        return 1
