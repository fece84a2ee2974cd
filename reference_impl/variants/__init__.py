"""Correct implementations, unlike the reference in what the documents leave open; the suites must accept each."""

from __future__ import annotations

import contextlib

from reference_impl.variants import absences, devices, execution, pools, refusals, shapes, values
from reference_impl.variants.variant import EVERYWHERE, Variant

UNCHANGED = Variant("unchanged", "The reference as it is.", EVERYWHERE, contextlib.nullcontext)
VARIANTS: tuple[Variant, ...] = (
    UNCHANGED,
    *values.VARIANTS,
    *refusals.VARIANTS,
    *shapes.VARIANTS,
    *execution.VARIANTS,
    *pools.VARIANTS,
    *devices.VARIANTS,
    *absences.VARIANTS,
)

__all__ = ["VARIANTS", "Variant"]
