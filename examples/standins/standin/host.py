"""Makes a module a device module of this process's torch."""

from __future__ import annotations

import functools
import sys
from collections.abc import Collection
from types import ModuleType
from typing import Any

import torch
from torch.utils.backend_registration import rename_privateuse1_backend

from reference_impl.devices.chosen import device
from standin.tensors import DeviceTensors

#: Kinds of device that torch has names for; any other one takes the name of its private one.
_NAMED_BY_TORCH = ("cuda", "xpu", "mtia", "hpu")


def register(kind: str, module: ModuleType, lacks: Collection[str] = ()) -> None:
    """Make `module` what ``torch.<kind>`` names, and that kind of device the one of this process.

    Args:
        kind: as torch calls it.
        module: with the names of `standin.device`, the graph class and the functions around it.
        lacks: those of the names that the vendor does not have.
    """
    for name in lacks:
        delattr(module, name)
    # The software device's operators are small: waiting for other threads takes longer than the work.
    torch.set_num_threads(1)
    if kind not in _NAMED_BY_TORCH:
        rename_privateuse1_backend(kind)
    original = getattr(torch, kind, None)
    if original is not None:  # what has nothing to do with graphs stays torch's own
        vars(module).setdefault("__getattr__", functools.partial(getattr, original))
    setattr(torch, kind, module)
    sys.modules[f"torch.{kind}"] = module
    torch.get_device_module.cache_clear()
    DeviceTensors(kind).install()
    _stand_in_for_the_generic_api(kind, module)


def _stand_in_for_the_generic_api(kind: str, module: Any) -> None:
    """``torch.accelerator`` asks C++ for what only backends with C++ have."""
    generic: Any = torch.accelerator
    generic.current_accelerator = lambda check_available=False: torch.device(kind)
    generic.is_available = module.is_available
    generic.device_count = module.device_count
    generic.set_device_index = module.set_device
    generic.current_stream = lambda where=None: device().current_stream()
    generic.set_stream = device().set_stream
    generic.synchronize = lambda where=None: device().synchronize()
    generic.empty_cache = device().empty_cache
    generic.memory_allocated = lambda where=None: device().memory_allocated()
    generic.memory_reserved = lambda where=None: device().memory_reserved()


def let_the_default_stream_capture() -> None:
    """For devices whose default stream is a stream like any other."""
    streams: Any = device()._streams  # type: ignore[attr-defined]
    streams.default = streams.new()
    streams.thread = type(streams.thread)(streams.default)
