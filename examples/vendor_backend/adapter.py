"""What the kit is told about ``vendor_device``: the whole of what a vendor writes for it."""

from __future__ import annotations

import vendor_device

from conformance.adapter import Adapter, ModuleAdapter

#: What the device does not have.  Each is quoted in the report; whatever is left out is tested.
ABSENT = (
    "keep_graph",
    "pools",
    "capture_modes",
    "liveness",
    "hooks",
    "capture_phases",
    "raw_handles",
    "template_editing",
    "debug_dump",
    "graph_data",
    "graphed_callables",
    "fork_join",
    "threads",
    "memory_stats",
)


def adapter() -> Adapter:
    """``vendor_device.VendorGraph``, held to what the torch.cuda page of PyTorch 1.10 says."""
    return ModuleAdapter(
        "vendor",
        vendor_device,
        vendor_device.VendorGraph,
        device="cpu",
        dialect="cuda",  # the class has the shape of torch.cuda.CUDAGraph
        revision="1.10",  # the PyTorch release whose documents it claims
        capabilities=dict.fromkeys(ABSENT, False),
    )
