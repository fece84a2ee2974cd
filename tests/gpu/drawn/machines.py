"""What programs are played on: the software model, or a GPU through the bindings."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Protocol

from reference_impl import runtime as software
from tests.gpu.recorder import native


class Machine(Protocol):
    """A runtime, and what the bindings have no call for."""

    @property
    def runtime(self) -> ModuleType: ...

    def increment(self, cell: int, stream: Any) -> Any:
        """Launch a kernel that adds 1 to the 32-bit number at `cell`; its cudaError_t."""
        ...

    def reach(self, host: int, nbytes: int) -> None:
        """Let copies write `nbytes` bytes of this process's memory."""
        ...

    def leave(self, host: int) -> None:
        """No copy writes there any more."""
        ...

    def settle(self) -> None:
        """Wait until the device has called the destructors of user objects that it has to call."""
        ...


@dataclass(frozen=True)
class _Increment:
    cell: int
    name: str = "increment"
    memory: Sequence[Any] = ()
    serial: None = None

    def run(self) -> None:
        ctypes.c_uint32.from_address(self.cell).value += 1


class Model:
    """The software model, whose work runs at once."""

    runtime = software

    def increment(self, cell: int, stream: Any) -> Any:
        return software.launchKernel(_Increment(cell), stream)[0]

    def reach(self, host: int, nbytes: int) -> None:
        software.register_memory(host, nbytes)

    def leave(self, host: int) -> None:
        software.unregister_memory(host)

    def settle(self) -> None:
        """The model calls destructors at once."""


# An atomic addition: the sum does not depend on the order of nodes that no edge orders.
_PTX = b"""
.version 7.0
.target sm_50
.address_size 64
.visible .entry increment(.param .u64 cell) {
    .reg .u64 %address;
    ld.param.u64 %address, [cell];
    cvta.to.global.u64 %address, %address;
    red.global.add.u32 [%address], 1;
    ret;
}
"""


class Gpu:
    """The GPU of this process."""

    runtime = native

    def __init__(self) -> None:
        from cuda.bindings import driver

        native.cudaFree(0)
        self._driver = driver
        code, module = driver.cuModuleLoadData(_PTX + b"\0")
        assert code == driver.CUresult.CUDA_SUCCESS, f"the kernel cannot be loaded: {code.name}"
        self._kernel = driver.cuModuleGetFunction(module, b"increment")[1]

    def increment(self, cell: int, stream: Any) -> Any:
        queue = self._driver.CUstream(init_value=int(stream))
        arguments = ((cell,), (ctypes.c_void_p,))
        (code,) = self._driver.cuLaunchKernel(self._kernel, 1, 1, 1, 1, 1, 1, 0, queue, arguments, 0)
        # The two have the same numbers, and in a capture the same names.
        return native.cudaError_t(int(code))

    def reach(self, host: int, nbytes: int) -> None:
        """CUDA copies to all memory of the process."""

    def leave(self, host: int) -> None:
        """As above."""

    def settle(self) -> None:
        time.sleep(0.1)  # CUDA calls them from a thread of its own, and does not say when


def why_no_gpu() -> str | None:
    """Why there is none to compare with; None where there is one."""
    code, number = native.cudaGetDeviceCount()
    if code != native.cudaError_t.cudaSuccess or not number:
        return f"needs a CUDA GPU: cudaGetDeviceCount answers {code.name}"
    return None
