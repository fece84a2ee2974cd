"""Correct implementations, unlike the reference in what the documents leave open; the suites must accept each."""

from __future__ import annotations

import contextlib

from reference_impl.variants import execution, shapes, values
from reference_impl.variants.variant import EVERY_DIALECT, Variant

UNCHANGED = Variant(
    "unchanged", "The reference as it is.", (*EVERY_DIALECT, "reference.asynchronous"), contextlib.nullcontext
)
VARIANTS: tuple[Variant, ...] = (UNCHANGED, *values.VARIANTS, *shapes.VARIANTS, *execution.VARIANTS)

__all__ = ["VARIANTS", "Variant"]
