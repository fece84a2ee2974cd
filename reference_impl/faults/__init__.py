"""Implementations that are wrong on purpose: the reference, each time with one small defect.

They are what the suites are measured by.  Each is a class that derives from a documented one, or a patch of a deeper
layer that is applied and undone; none touches the reference outside its context.
"""

from __future__ import annotations

from reference_impl.faults import (
    allocator,
    callables,
    contexts,
    handles,
    hooks,
    host_settings,
    lifetimes,
    liveness,
    other_faces,
    recorded_values,
    recorder,
    runtime,
    runtime_calls,
    states,
)
from reference_impl.faults.fault import Fault

FAULTS: tuple[Fault, ...] = (
    *states.FAULTS,
    *host_settings.FAULTS,
    *other_faces.FAULTS,
    *lifetimes.FAULTS,
    *handles.FAULTS,
    *hooks.FAULTS,
    *liveness.FAULTS,
    *contexts.FAULTS,
    *callables.FAULTS,
    *runtime.FAULTS,
    *runtime_calls.FAULTS,
    *allocator.FAULTS,
    *recorder.FAULTS,
    *recorded_values.FAULTS,
)

__all__ = ["FAULTS", "Fault"]
