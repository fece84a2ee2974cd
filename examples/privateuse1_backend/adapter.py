"""What the kit is told about ``torch.accelerator.Graph`` on the device of this example."""

from __future__ import annotations

import hostmem
import torch

from conformance.adapter import Adapter


class HostmemAdapter(Adapter):
    """Streams, events, tensors and memory are reached through torch's generic names, which need no words here."""

    name = "hostmem"
    dialect = "accelerator"
    revision = "2.13"  # the PyTorch release whose documents are claimed
    graph_class = torch.accelerator.Graph

    def unsafe_call(self) -> None:
        """The device's own way to allocate memory, which its capture modes permit or not."""
        hostmem.raw_free(hostmem.raw_allocate(64))
