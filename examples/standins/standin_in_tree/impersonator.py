"""A stand-in for torch.cuda of a device that only looks like NVIDIA's.

What differs from `cuda_2_13`:

- torch says that it was built for CUDA;
- NVIDIA's runtime is installed, and sees no device.
"""

from __future__ import annotations

import sys
from enum import IntEnum
from types import ModuleType
from typing import Any

import torch
from standin.host import register

from standin_in_tree import cuda_2_13

_Error = IntEnum("_Error", {"cudaSuccess": 0, "cudaErrorMemoryAllocation": 2, "cudaErrorNoDevice": 100})
_NO_DEVICE = _Error(100)


def _installed_runtime() -> ModuleType:
    runtime: Any = ModuleType("cuda.bindings.runtime")
    runtime.cudaError_t = _Error
    runtime.cudaMalloc = lambda size: (_NO_DEVICE, 0)
    runtime.cudaDriverGetVersion = lambda: (_NO_DEVICE, 0)
    module: ModuleType = runtime
    return module


def stand_in() -> None:
    torch.version.cuda = "12.6"
    sys.modules["cuda.bindings.runtime"] = _installed_runtime()
    register("cuda", cuda_2_13)
