"""The names that a vendor's device module shares with ``torch.cuda``, of one device."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from reference_impl import (
    Event,
    MemPool,
    Stream,
    current_stream,
    default_stream,
    empty_cache,
    graph_pool_handle,
    is_current_stream_capturing,
    manual_seed,
    memory_allocated,
    memory_reserved,
    memory_snapshot,
    set_stream,
    stream,
    synchronize,
)

__all__ = [
    "Event",
    "MemPool",
    "Stream",
    "_is_in_bad_fork",
    "current_device",
    "current_stream",
    "default_stream",
    "device_count",
    "empty_cache",
    "get_device_name",
    "get_device_properties",
    "graph_pool_handle",
    "is_available",
    "is_current_stream_capturing",
    "manual_seed",
    "manual_seed_all",
    "memory_allocated",
    "memory_reserved",
    "memory_snapshot",
    "set_device",
    "set_stream",
    "stream",
    "synchronize",
]

manual_seed_all = manual_seed


def is_available() -> bool:
    """Whether there is a device."""
    return True


def device_count() -> int:
    """How many there are."""
    return 1


def current_device() -> int:
    """The only one."""
    return 0


def set_device(device: Any) -> None:
    """Choose the only one."""


def get_device_name(device: Any = None) -> str:
    """What it is."""
    return "stand-in (software)"


def get_device_properties(device: Any = None) -> Any:
    """As far as adapters ask."""
    return SimpleNamespace(name=get_device_name(), major=0, minor=0, uuid="none")


def _is_in_bad_fork() -> bool:
    """What torch.manual_seed asks."""
    return False
