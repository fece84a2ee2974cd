"""A stand-in for torch.cuda of a torch that was built for AMD's devices.

What differs from `cuda_2_13`:

- torch.version.hip is set;
- there is no runtime like CUDA's behind the handles; raw allocations go through HIP's library.
"""

from __future__ import annotations

import ctypes
from typing import Any

import torch
from standin.host import register

from reference_impl import cudart
from standin_in_tree import cuda_2_13


class _Hip:
    """HIP's library, as far as adapters call it."""

    def __init__(self) -> None:
        self.hipGetErrorName = lambda error: f"hipError {error}".encode()

    def hipMalloc(self, pointer: Any, size: ctypes.c_size_t) -> int:  # noqa: N802
        error, address = cudart().cudaMalloc(size.value)
        pointer._obj.value = int(address)
        return int(error)

    def hipFree(self, pointer: ctypes.c_void_p) -> int:  # noqa: N802
        (error,) = cudart().cudaFree(pointer.value)
        return int(error)


def stand_in() -> None:
    torch.version.hip = "6.4"
    _load_hip(_Hip())
    register("cuda", cuda_2_13)


def _load_hip(library: _Hip) -> None:
    load: Any = ctypes.CDLL

    def find(name: Any, *arguments: Any, **named: Any) -> Any:
        return library if str(name).startswith("libamdhip64.so") else load(name, *arguments, **named)

    ctypes.CDLL = find  # type: ignore[assignment, misc]
