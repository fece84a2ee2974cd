"""The documented graph classes, and what surrounds a capture."""

from __future__ import annotations
