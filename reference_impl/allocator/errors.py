"""The allocator's own exception."""

from __future__ import annotations


class OutOfMemoryError(RuntimeError):
    """No segment could be added: the limit, or the machine, does not allow it."""
