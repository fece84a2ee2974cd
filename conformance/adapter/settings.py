"""The settings of a capture on their way from a test to the implementation."""

from __future__ import annotations

from typing import Any

from conformance.errors import HarnessError


def given(**settings: Any) -> dict[str, Any]:
    """The settings that were not left out."""
    return {name: value for name, value in settings.items() if value is not None}


def expect_none(pool: Any, mode: str | None) -> None:
    """Refuse a pool and a mode where they are the constructor's.

    Raises:
        HarnessError: either is given.
    """
    if pool is not None or mode is not None:
        raise HarnessError("in this dialect pool and mode are the constructor's (Adapter.graph_for)")
