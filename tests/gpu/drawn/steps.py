"""All steps: importing this makes them known by their names."""

from __future__ import annotations

from . import steps_captures, steps_executables, steps_memory, steps_templates

__all__ = ["steps_captures", "steps_executables", "steps_memory", "steps_templates"]
