"""Optional features that a test needs besides those that its requirements are part of."""

from __future__ import annotations

from conformance.adapter import Adapter
from conformance.errors import Unsupported


def needs(impl: Adapter, capability: str) -> None:
    """Go on only with an implementation that owes `capability`.

    Raises:
        Unsupported: it does not.
    """
    if not impl.owes(capability):
        raise Unsupported(f"the test needs {capability}, which the implementation does not owe")
