"""What the kit is told about ``torch.accelerator.Graph`` on the device of this example."""

from __future__ import annotations

import contextlib
from typing import Any

import hostmem
import torch

from conformance.adapter import Adapter, ModuleAdapter


class _HostmemAdapter(ModuleAdapter):
    def is_current_stream_capturing(self) -> bool:
        return torch.accelerator.current_stream().is_capturing()

    def stream(self, stream: Any) -> contextlib.AbstractContextManager[Any]:
        return stream

    def unsafe_call(self) -> None:
        hostmem.raw_free(hostmem.raw_allocate(64))


class _Names:
    """What `ModuleAdapter` looks up."""

    Event = staticmethod(lambda: torch.Event("hostmem"))
    Stream = staticmethod(lambda: torch.Stream("hostmem"))
    current_stream = staticmethod(torch.accelerator.current_stream)
    default_stream = staticmethod(hostmem.default_stream)
    synchronize = staticmethod(torch.accelerator.synchronize)
    empty_cache = staticmethod(torch.accelerator.empty_cache)
    memory_allocated = staticmethod(torch.accelerator.memory_allocated)
    memory_reserved = staticmethod(torch.accelerator.memory_reserved)
    memory_snapshot = staticmethod(hostmem.memory_snapshot)
    manual_seed = staticmethod(torch.manual_seed)


def adapter() -> Adapter:
    return _HostmemAdapter(
        "hostmem", _Names, torch.accelerator.Graph, device="hostmem:0", dialect="accelerator", revision="2.13"
    )
