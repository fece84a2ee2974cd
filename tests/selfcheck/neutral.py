"""Catalogues that are wrong: a fault that breaks nothing, one that breaks something else, a variant that is broken."""

from __future__ import annotations

import contextlib

from reference_impl import CUDAGraph
from reference_impl.faults.fault import Fault
from reference_impl.faults.states import IgnoresKeepGraph
from reference_impl.variants import Variant


class Renamed(CUDAGraph):
    """The reference under another name."""


FAULTS = (
    Fault(
        "neutral",
        "class",
        "Nothing is wrong.",
        ("xpu.executable-in-debug-mode",),
        "reference.xpu",
        contextlib.nullcontext,
    ),
    Fault(
        "misnamed",
        "class",
        "What is wrong is something else than it says.",
        ("keep-graph.instantiate-runs-nothing",),
        "reference",
        lambda: contextlib.nullcontext(IgnoresKeepGraph),
    ),
)

VARIANTS = (Variant("wrong", "It is not correct.", ("reference",), lambda: contextlib.nullcontext(IgnoresKeepGraph)),)
