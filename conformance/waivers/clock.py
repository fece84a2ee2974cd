"""The day on which waivers are judged."""

from __future__ import annotations

from datetime import date, datetime, timezone


def today() -> date:
    """The day in UTC, as records tell the time."""
    return datetime.now(timezone.utc).date()
