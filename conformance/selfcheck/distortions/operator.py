"""An operator: one mechanical way to change a call."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass

from conformance.adapter import Adapter
from conformance.selfcheck.distortions.call import Act, Mark


@dataclass(frozen=True)
class Means:
    """What an operator may use.

    Attributes:
        adapter: of the implementation that is distorted.
        mark: to be set when a call goes otherwise than it would have.
    """

    adapter: Adapter
    mark: Mark


@dataclass(frozen=True)
class Operator:
    """One mechanical way to change a call.

    Attributes:
        name: lower-case words.
        about: what the call does then, as a sentence without its subject.
        make: what is done in the place of the call; made once for each process.
        signature: what the call's signature becomes; ``None`` when it stays.
    """

    name: str
    about: str
    make: Callable[[Means], Act]
    signature: Callable[[inspect.Signature], inspect.Signature] | None = None
