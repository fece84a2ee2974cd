"""Catalogues that are wrong: a fault that breaks nothing, one that breaks something else, a variant that is broken."""

from __future__ import annotations

import contextlib

from reference_impl.faults.fault import Fault
from reference_impl.faults.other_faces import AcceleratorTakesAnyMode
from reference_impl.variants import Variant

# Of the dialect with the fewest tests: what no requirement rejects meets all of them.
DIALECT = "reference.accelerator"

FAULTS = (
    Fault("neutral", "class", "Nothing is wrong.", ("accelerator.settings-last",), DIALECT, contextlib.nullcontext),
    Fault(
        "misnamed",
        "class",
        "What is wrong is something else than it says.",
        ("accelerator.constructor-begins-nothing",),
        DIALECT,
        lambda: contextlib.nullcontext(AcceleratorTakesAnyMode),
    ),
)

VARIANTS = (
    Variant("wrong", "It is not correct.", (DIALECT,), lambda: contextlib.nullcontext(AcceleratorTakesAnyMode)),
)
