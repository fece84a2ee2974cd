"""What memory of the software device holds before anybody writes to it, and after it was freed."""

from __future__ import annotations

from typing import Final

POISON: Final = 0xFF
"""The byte: NaN in every float type, -1 in every signed int."""
