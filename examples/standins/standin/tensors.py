"""Tensors of the software device under a vendor's device name.

They are CPU tensors at addresses of the device's allocator.  Such a tensor has to say that it is on the device; and
where torch is given the device, it has to take the host.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch

import reference_impl
from reference_impl.devices.chosen import device
from reference_impl.graphs import graphed_callables

_FACTORIES = (
    *("arange", "as_tensor", "empty", "empty_like", "eye", "full", "full_like", "linspace", "ones", "ones_like"),
    *("rand", "rand_like", "randint", "randn", "randn_like", "randperm", "tensor", "zeros", "zeros_like"),
)


class DeviceTensors:
    """Torch's functions around tensors, for one kind of device.

    Args:
        kind: as torch calls it.
    """

    def __init__(self, kind: str) -> None:
        self._device = torch.device(kind, 0)
        self._memory: Any = device()
        self._real_device: Any = torch.Tensor.device
        self._plain = False

    def install(self) -> None:
        """Change torch, for good."""
        torch.Tensor.device = property(self._device_of)  # type: ignore[assignment]
        torch.Tensor.to = self._converted(torch.Tensor.to)  # type: ignore[method-assign]
        torch.Tensor.pin_memory = torch.Tensor.clone  # type: ignore[method-assign, assignment]
        torch.autocast.__init__ = self._cast(torch.autocast.__init__)  # type: ignore[method-assign]
        for name in _FACTORIES:
            setattr(torch, name, self._made_on_host(getattr(torch, name)))
        passes: Any = graphed_callables._Passes
        passes._checked = self._plainly(passes._checked)

    def _is_meant(self, where: Any) -> bool:
        return isinstance(where, str | torch.device) and torch.device(where).type == self._device.type

    def _device_of(self, tensor: torch.Tensor) -> torch.device:
        real: torch.device = self._real_device.__get__(tensor)
        if self._plain or real.type != "cpu":
            return real
        address = tensor.data_ptr()  # 0 for one without elements, which may be anywhere
        return self._device if address == 0 or self._memory.allocator.segment_of(address) is not None else real

    def _made_on_host(self, factory: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(factory)
        def make(*arguments: Any, **named: Any) -> Any:
            if self._is_meant(named.get("device")):
                named["device"] = "cpu"
            return factory(*arguments, **named)

        return make

    def _converted(self, to: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(to)
        def convert(tensor: torch.Tensor, *arguments: Any, **named: Any) -> Any:
            positional = bool(arguments) and self._is_meant(arguments[0])
            if not positional and not self._is_meant(named.get("device")):
                return to(tensor, *arguments, **named)
            if named.pop("copy", False):
                return reference_impl.tensor(tensor.detach())
            named.pop("device", None)
            return to(tensor, "cpu", *arguments[positional:], **named)

        return convert

    def _cast(self, autocast: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(autocast)
        def begin(context: Any, device_type: str, *arguments: Any, **named: Any) -> None:
            autocast(context, "cpu" if self._is_meant(device_type) else device_type, *arguments, **named)

        return begin

    def _plainly(self, check: Callable[..., Any]) -> Callable[..., Any]:
        """The reference compares devices; what eager operators give is not in the allocator's memory."""

        @functools.wraps(check)
        def checked(*arguments: Any) -> Any:
            with self._as_they_are():
                return check(*arguments)

        return checked

    @contextlib.contextmanager
    def _as_they_are(self) -> Iterator[None]:
        self._plain = True
        try:
            yield
        finally:
            self._plain = False
