"""The device of this process: the software device, unless `use_device` says otherwise."""

from __future__ import annotations

import threading

import torch

from reference_impl.devices.protocol import Device

_lock = threading.Lock()
_chosen: Device | None = None


def device() -> Device:
    """The device of this process."""
    return _chosen if _chosen is not None else use_device("cpu")


def use_device(name: str) -> Device:
    """Choose the device of this process: ``"cpu"`` for the software device, ``"cuda"`` or ``"cuda:N"`` for a GPU.

    Raises:
        RuntimeError: there is no such GPU, or another device was chosen before (handles would not carry over).
        ValueError: `name` is no device of these kinds.
    """
    global _chosen  # noqa: PLW0603  # one device a process: streams, pools and handles belong to it
    with _lock:
        request = torch.device(name)
        if _chosen is not None:
            if not _same(_chosen.torch_device, request):
                raise RuntimeError(f"use_device({name!r}): this process already uses {_chosen.torch_device}")
            return _chosen
        _chosen = _open(request)
        return _chosen


def _same(chosen: torch.device, request: torch.device) -> bool:
    return chosen.type == request.type and (
        request.index is None or request.index == chosen.index or request.type == "cpu"
    )


def _open(request: torch.device) -> Device:
    # Each device's module imports what only that device has, so it is imported when it is chosen.
    if request.type == "cpu":
        from reference_impl.devices.software.device import SoftwareDevice

        return SoftwareDevice()
    if request.type == "cuda":
        from reference_impl.devices.cuda import CudaDevice

        return CudaDevice(request)
    raise ValueError(f"use_device: the reference runs on cpu and cuda devices, not on {request.type!r}")
