"""The vendors' graph classes that the kit knows: where each is, what it claims, and where it differs.

Read in the vendors' sources and documents; nothing here was tried on their devices.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from conformance.requirements.vocabulary import Dialect

if TYPE_CHECKING:
    from conformance.adapter import Adapter


@dataclass(frozen=True)
class Vendor:
    """One row.  Called, it makes the adapter.

    Attributes:
        name: of the implementation, and of the device module.
        about: whose it is.
        graph_class: the class's name in that module.
        defined_in: the package where the class is defined.
        device: the kind, as torch calls it; ``None`` for the current accelerator.
        package: to import first; ``None`` for what is part of torch.
        dialect: the documented shape of the class.
        newest: the release whose documents the class follows; ``None`` for those of the installed torch.
        absent: capabilities that it does not have.
        visible_devices: see `Adapter`.
        needs_pool: whether capture_begin cannot do without a pool.
        default_mode: see `Adapter`.
        not_taken: by method of `Adapter`, the documented settings that its function does not take.
    """

    name: str
    about: str
    graph_class: str
    defined_in: str
    device: str | None
    package: str | None = None
    dialect: Dialect = "cuda"
    newest: str | None = None
    absent: tuple[str, ...] = ()
    visible_devices: str | None = None
    needs_pool: bool = False
    default_mode: str = "global"
    not_taken: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __call__(self, device: str | None = None) -> Adapter:
        """The adapter, on `device` or the first one there is.

        Raises:
            ImplementationError: `device` is none of this vendor's.
            Unavailable: the package, the class or the device is missing here, or the package is broken.
        """
        from conformance.adapters.vendor_adapter import make

        return make(self, device)


#: Later arguments than theirs, keep_graph among them, came to torch.cuda's class with 2.8.
_BEFORE_KEEP_GRAPH = "2.7"
_NO_POOL_FOR_CALLABLES = MappingProxyType({"make_graphed_callables": ("pool",)})

xpu = Vendor(
    "torch.xpu",
    "Intel's, part of torch since 2.11",
    "XPUGraph",
    "torch.xpu",
    "xpu",
    dialect="xpu",
    visible_devices="ZE_AFFINITY_MASK",
)
mtia = Vendor(
    "torch.mtia",
    "Meta's, part of torch",
    "MTIAGraph",
    "torch.mtia",
    "mtia",
    dialect="xpu",
    absent=("raw_handles", "debug_dump", "graphed_callables"),
    needs_pool=True,
)
accelerator = Vendor(
    "torch.accelerator",
    "of any backend that registers a graph implementation",
    "Graph",
    "torch.accelerator",
    None,
    dialect="accelerator",
)
npu = Vendor(
    "torch.npu",
    "Huawei Ascend's",
    "NPUGraph",
    "torch_npu",
    "npu",
    package="torch_npu",
    newest=_BEFORE_KEEP_GRAPH,
    visible_devices="ASCEND_RT_VISIBLE_DEVICES",
)
musa = Vendor(
    "torch.musa",
    "Moore Threads'",
    "MUSAGraph",
    "torch_musa",
    "musa",
    package="torch_musa",
    newest=_BEFORE_KEEP_GRAPH,
    visible_devices="MUSA_VISIBLE_DEVICES",
    not_taken=_NO_POOL_FOR_CALLABLES,
)
mlu = Vendor(
    "torch.mlu",
    "Cambricon's",
    "MLUGraph",
    "torch_mlu",
    "mlu",
    package="torch_mlu",
    newest=_BEFORE_KEEP_GRAPH,
    visible_devices="MLU_VISIBLE_DEVICES",
    default_mode="relaxed",
    not_taken=_NO_POOL_FOR_CALLABLES,
)
gcu = Vendor(
    "torch.gcu",
    "Enflame's",
    "GCUGraph",
    "torch_gcu",
    "gcu",
    package="torch_gcu",
    newest=_BEFORE_KEEP_GRAPH,
    not_taken=_NO_POOL_FOR_CALLABLES,
)
hpu = Vendor(
    "torch.hpu",
    "Intel Habana's",
    "HPUGraph",
    "habana_frameworks.torch",
    "hpu",
    package="habana_frameworks.torch",
    newest="1.10",
    absent=("pools",),
)

VENDORS: tuple[tuple[str, Vendor], ...] = (
    ("xpu", xpu),
    ("mtia", mtia),
    ("accelerator", accelerator),
    ("npu", npu),
    ("musa", musa),
    ("mlu", mlu),
    ("gcu", gcu),
    ("hpu", hpu),
)
