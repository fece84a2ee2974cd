"""Optional features that a test needs besides those that its requirements are part of."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from conformance.adapter import Adapter
from conformance.errors import Unsupported


def need_capability(impl: Adapter, capability: str) -> None:
    """Go on only with an implementation that owes `capability`.

    Raises:
        Unsupported: it does not.
    """
    why = impl.why_without(capability)
    if why is not None:
        raise Unsupported(why)


@contextlib.contextmanager
def without_reset(impl: Adapter) -> Iterator[None]:
    """Let what resets a graph be no failure of a class whose page lists no reset().

    Raises:
        Unsupported: the class has no reset(), and was asked for it.
    """
    try:
        yield
    except AttributeError as error:
        if error.name == "reset" and not impl.has_reset:
            raise Unsupported("the class has no reset(), which its page does not list") from error
        raise
