"""``torch.cuda.CUDAGraph`` of the installed torch: NVIDIA's, AMD's, or that of a device which only looks like one."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import torch

from conformance.adapter import Adapter, ModuleAdapter
from conformance.adapters import hip
from conformance.errors import ImplementationError, Unavailable
from conformance.requirements.revisions import of_version
from conformance.requirements.vocabulary import CAPABILITIES, FIRST

_RUNTIME = "cuda.bindings.runtime"
_NODE_IDS_SINCE = 13010


class OnCuda(ModuleAdapter):
    """Whatever runs on torch.cuda's device."""

    visible_devices = "CUDA_VISIBLE_DEVICES"

    def device_count(self) -> int:
        """GPUs that this process sees."""
        return torch.cuda.device_count()

    def release_library_memory(self) -> None:
        """The workspaces that cuBLAS has for each stream it met."""
        clear = getattr(torch._C, "_cuda_clearCublasWorkspaces", None)  # noqa: SLF001  # there is no public name
        if clear is not None:
            clear()

    def environment(self) -> dict[str, str]:
        """The GPU, its driver and the CUDA that torch was built for."""
        properties = torch.cuda.get_device_properties(self.device)
        facts = {
            "device": properties.name,
            "compute_capability": f"{properties.major}.{properties.minor}",
            "torch_cuda": str(torch.version.cuda or torch.version.hip),
        }
        if self.runtime is not None:
            for name, call in (("driver", "cudaDriverGetVersion"), ("runtime", "cudaRuntimeGetVersion")):
                error, version = getattr(self.runtime, call)()
                if int(error) == 0:
                    facts[name] = f"{version // 1000}.{version % 1000 // 10}"
        return facts


class OnRocm(OnCuda):
    """AMD's devices are called cuda, too; the handles behind them are HIP's, and so is the raw allocation."""

    visible_devices = "HIP_VISIBLE_DEVICES"

    def unsafe_call(self) -> None:
        """Allocate through HIP, which torch has loaded."""
        self._unsafe_allocations().append(hip.malloc(1 << 16))

    def recover(self) -> str | None:
        while self._unsafe_allocations():
            hip.free(self._unsafe_allocations().pop())
        return super().recover()


def adapter(device: str = "cuda") -> Adapter:
    """The class of the installed torch on `device`: ``cuda`` or ``cuda:N``.

    Raises:
        ImplementationError: `device` is not a CUDA device.
        Unavailable: torch sees no such GPU.
    """
    gpu = _device(device)
    torch.cuda.set_device(gpu)
    revision = of_version(torch.__version__)
    runtime = _runtime()
    # What the class came with, every release has.
    later = [entry for entry in CAPABILITIES.values() if entry.since != FIRST]
    capabilities = {entry.name: entry.begun_in(revision, "cuda") for entry in later}
    if runtime is None:
        capabilities["template_editing"] = False
    capabilities["graph_data"] = capabilities["graph_data"] and driver_numbers_nodes(runtime)
    kind: type[OnCuda] = OnRocm if _is_rocm() else OnCuda
    return kind(
        "torch.cuda",
        torch.cuda,
        torch.cuda.CUDAGraph,
        device=gpu,
        dialect="cuda",
        revision=revision,
        capabilities=capabilities,
        runtime=runtime,
    )


def driver_numbers_nodes(runtime: ModuleType | None) -> bool:
    """Whether the driver gives nodes the ids that ``get_graph_data`` reports: documented to need CUDA 13.1."""
    if runtime is None:
        return False
    error, version = runtime.cudaDriverGetVersion()
    return int(error) == 0 and int(version) >= _NODE_IDS_SINCE


def _device(name: str) -> torch.device:
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ImplementationError(f"{name!r} is no device") from None
    if device.type != "cuda":
        raise ImplementationError(f"torch.cuda runs on cuda or cuda:N, not on {name!r}")
    if not torch.cuda.is_available():
        raise Unavailable("torch sees no CUDA GPU on this machine (torch.cuda.is_available() is False)")
    index = 0 if device.index is None else device.index
    if index >= torch.cuda.device_count():
        raise Unavailable(f"torch sees {torch.cuda.device_count()} CUDA GPUs, so there is no {name}")
    return torch.device("cuda", index)


def _is_rocm() -> bool:
    return torch.version.hip is not None


def _runtime() -> ModuleType | None:
    """NVIDIA's runtime, where the devices are NVIDIA's.

    Others are called cuda as well, and the handles behind them are not CUDA's.  One that says so has a torch that was
    not built for CUDA; of one that does not, NVIDIA's runtime gets no memory.
    """
    if _is_rocm() or torch.version.cuda is None:
        return None
    try:
        runtime = importlib.import_module(_RUNTIME)
    except ImportError:
        return None
    return runtime if _allocates(runtime) else None


def _allocates(runtime: Any) -> bool:
    """Whether a raw allocation outside all captures works; one that fails for want of memory was understood."""
    error, pointer = runtime.cudaMalloc(1 << 8)
    if int(error) == 0:
        runtime.cudaFree(pointer)
    return int(error) in {0, int(runtime.cudaError_t.cudaErrorMemoryAllocation)}
