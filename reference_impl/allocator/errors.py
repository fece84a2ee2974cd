"""The allocator's own exception."""


class OutOfMemoryError(RuntimeError):
    """No segment could be added: the limit, or the machine, does not allow it."""
