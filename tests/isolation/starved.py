"""The software reference on a device that has no memory at every fiftieth tensor."""

from __future__ import annotations

import itertools
from typing import Any

import torch

from conformance.adapter import Adapter
from conformance.adapters import reference

NUMBERS = itertools.count(1)


def adapter() -> Adapter:
    face = reference.adapter()
    face.name = "starved"
    make = face.tensor

    def tensor(*arguments: Any, **settings: Any) -> torch.Tensor:
        if next(NUMBERS) % 50 == 0:
            raise torch.OutOfMemoryError("CUDA out of memory. Process 4711 has 78 GiB in use")
        return make(*arguments, **settings)

    face.tensor = tensor  # type: ignore[method-assign]
    return face
