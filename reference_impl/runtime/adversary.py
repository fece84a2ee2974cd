"""The adversary: draws every order that CUDA leaves open, from a seed."""

from __future__ import annotations

import random
from typing import Final

from reference_impl.runtime.errors import LOCK

adversary: Final = random.Random(0)  # noqa: S311 - repeatable is what it has to be


def seed(number: int) -> None:
    """Make what is drawn from here on repeatable: the orders of launches and of deferred work."""
    with LOCK:
        adversary.seed(number)
