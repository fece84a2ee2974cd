"""Kernels of the software device."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from reference_impl.runtime import Memory


@dataclasses.dataclass(slots=True)  # one is made for each operator, and a frozen class takes three times as long
class OperatorKernel:
    """One operator on fixed addresses.  Not changed once it is made.

    Attributes:
        name: the operator's name, which stands for the kernel's.
        memory: what the operator reaches: segments of the allocator, storages of the user's.
        serial: equal for operators that draw from the same generator; such nodes keep their order.
        run: performs the operator.
    """

    name: str
    memory: Sequence[Memory]
    serial: Hashable | None
    run: Callable[[], Any]
