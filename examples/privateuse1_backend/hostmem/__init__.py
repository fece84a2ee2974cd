"""A PrivateUse1 backend whose device is the host's memory: importing it makes ``torch.device("hostmem")``.

``torch.hostmem`` holds the names that ``torch`` itself asks of a device module, and a few that tests ask for.
Everything else is reached through ``torch.accelerator``, ``torch.Stream`` and ``torch.Event``.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Any

import torch

from hostmem import build

build.load()


def _autoload() -> None:
    """What ``import torch`` calls where this package is installed; importing it has done all."""


def is_available() -> bool:
    return True


def is_initialized() -> bool:
    return True


def _is_in_bad_fork() -> bool:
    return False


def device_count() -> int:
    return 1


def current_device() -> int:
    return 0


def device(_index: int | torch.device) -> contextlib.AbstractContextManager[None]:
    """Nothing to switch to: there is one device."""
    return contextlib.nullcontext()


def manual_seed_all(seed: int) -> None:
    """Nothing: the device draws from the host's generator, which ``torch.manual_seed`` seeds itself."""


def get_rng_state(_device: int | torch.device = 0) -> torch.Tensor:
    return torch.get_rng_state()


def set_rng_state(state: torch.Tensor, _device: int | torch.device = 0) -> None:
    torch.set_rng_state(state)


def get_amp_supported_dtype() -> list[torch.dtype]:
    """The precisions of ``torch.autocast``."""
    return [torch.bfloat16, torch.float16]


def default_stream() -> torch.Stream:
    """The stream that is current at first; it cannot capture."""
    number = torch._C._autograd.DeviceType.PrivateUse1.value
    return torch.Stream(stream_id=0, device_index=0, device_type=number)


def memory_snapshot() -> list[dict[str, Any]]:
    """The allocator's blocks, with the names that ``torch.cuda.memory_snapshot`` has for segments."""
    rows = torch.ops.hostmem.memory_snapshot()
    return [{"address": row[0], "total_size": row[1], "segment_pool_id": (row[2], row[3])} for row in rows]


def raw_allocate(size: int) -> int:
    """The address of `size` bytes besides the allocator's; capture modes tell whether that is permitted."""
    return int(torch.ops.hostmem.raw_allocate(size))


def raw_free(address: int) -> None:
    torch.ops.hostmem.raw_free(address)


torch.utils.rename_privateuse1_backend("hostmem")  # type: ignore[attr-defined]
torch._register_device_module("hostmem", sys.modules[__name__])
torch.utils.generate_methods_for_privateuse1_backend()  # type: ignore[attr-defined]
