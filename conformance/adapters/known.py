"""The implementations that ``--impl`` knows by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from conformance.adapters.vendors import VENDORS


@dataclass(frozen=True)
class Known:
    """An implementation that the kit has an adapter for.

    Attributes:
        factory: ``module:function`` that returns the adapter; imported only when asked for.
        about: what it is, in a few words.
        package: where its graph class is defined, in this module or below it.
        graph_class: that class's name.
        software: whether it runs on the host unless it is given a device, so that it cannot take the process down.
    """

    factory: str
    about: str
    package: str
    graph_class: str
    software: bool = False

    def defines(self, cls: type) -> bool:
        """Whether `cls` is the graph class, judged by its qualified name, so that nothing needs importing."""
        inside = cls.__module__ == self.package or cls.__module__.startswith(self.package + ".")
        return inside and cls.__qualname__ == self.graph_class


KNOWN: Mapping[str, Known] = MappingProxyType(
    {
        "reference": Known(
            "conformance.adapters.reference:adapter",
            "the kit's own, in software or on a GPU",
            "reference_impl",
            "CUDAGraph",
            software=True,
        ),
        "reference.asynchronous": Known(
            "conformance.adapters.reference:asynchronous",
            "the kit's own in software, as asynchronous as a GPU",
            "reference_impl",
            "CUDAGraph",
            software=True,
        ),
        "reference.xpu": Known(
            "conformance.adapters.reference:xpu",
            "the kit's own, as torch.xpu documents it",
            "reference_impl",
            "XPUGraph",
            software=True,
        ),
        "reference.accelerator": Known(
            "conformance.adapters.reference:accelerator",
            "the kit's own, as torch.accelerator documents it",
            "reference_impl",
            "Graph",
            software=True,
        ),
        "torch.cuda": Known(
            "conformance.adapters.torch_cuda:adapter",
            "NVIDIA's and AMD's, part of torch",
            "torch.cuda",
            "CUDAGraph",
        ),
        **{
            vendor.name: Known(
                f"conformance.adapters.vendors:{attribute}", vendor.about, vendor.defined_in, vendor.graph_class
            )
            for attribute, vendor in VENDORS
        },
    }
)
