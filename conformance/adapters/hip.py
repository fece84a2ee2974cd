"""HIP's raw allocation, by its C names, out of the library that torch has loaded."""

from __future__ import annotations

import ctypes
import functools

from conformance.errors import Unsupported

_LIBRARIES = ("libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "amdhip64.dll")


def malloc(size: int) -> int:
    """The address of `size` new bytes of device memory.

    Raises:
        RuntimeError: HIP refuses; the message has its error's name.
        Unsupported: HIP's library cannot be found.
    """
    pointer = ctypes.c_void_p()
    _check("hipMalloc", _library().hipMalloc(ctypes.byref(pointer), ctypes.c_size_t(size)))
    return int(pointer.value or 0)


def free(address: int) -> None:
    """Give back what `malloc` gave.

    Raises:
        RuntimeError: HIP refuses.
    """
    _check("hipFree", _library().hipFree(ctypes.c_void_p(address)))


def _check(call: str, error: int) -> None:
    if error != 0:
        name = _library().hipGetErrorName
        name.restype = ctypes.c_char_p
        raise RuntimeError(f"{call}: {name(error).decode()}")


@functools.cache
def _library() -> ctypes.CDLL:
    for name in _LIBRARIES:
        try:
            return ctypes.CDLL(name)
        except OSError:  # under another name, or nowhere
            continue
    raise Unsupported(f"HIP's library cannot be found to make a raw allocation with ({', '.join(_LIBRARIES)})")
