"""The kit's own implementation, found by name like anybody else's."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from conformance.adapter import Adapter, ModuleAdapter
from conformance.errors import ImplementationError

_MODULE = "reference_impl"


class _OnHost(ModuleAdapter):
    """The software device's tensors are CPU tensors at addresses of its allocator's choosing, so it makes them."""

    def tensor(self, data: Any, dtype: torch.dtype | None = None) -> torch.Tensor:
        made: torch.Tensor = self.module.tensor(data, dtype=dtype)
        return made

    def pinned(self, data: Any, dtype: torch.dtype | None = None) -> torch.Tensor:
        source = torch.as_tensor(data, dtype=dtype)
        made: torch.Tensor = self.module.pinned(source)
        return made


def adapter(device: str = "cpu") -> Adapter:
    """The reference on `device`: ``cpu`` (the software device), ``cuda`` or ``cuda:N``.

    Raises:
        ImplementationError: it is not installed, or there is no such device.
    """
    try:
        module = importlib.import_module(_MODULE)
    except ModuleNotFoundError as error:
        if error.name != _MODULE:
            raise
        raise ImplementationError(f"the package {_MODULE} is not installed") from None
    try:
        module.use_device(device)
    except (RuntimeError, ValueError) as error:
        raise ImplementationError(f"the device {device!r} cannot be used: {error}") from None
    kind = _OnHost if torch.device(device).type == "cpu" else ModuleAdapter
    return kind(
        "reference",
        module,
        module.CUDAGraph,
        device=device,
        dialect="cuda",
        revision="2.14",
        runtime=module.runtime(),
        capabilities={},
    )
