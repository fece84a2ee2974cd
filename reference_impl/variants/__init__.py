"""Correct implementations, unlike the reference in what the documents leave open; the suites must accept each."""

from __future__ import annotations

from reference_impl.variants import execution, shapes, values
from reference_impl.variants.variant import Variant

VARIANTS: tuple[Variant, ...] = (*values.VARIANTS, *shapes.VARIANTS, *execution.VARIANTS)

__all__ = ["VARIANTS", "Variant"]
