"""What a graph class says of itself: its device, its dialect, and what it visibly does not have."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from conformance.requirements.vocabulary import Dialect

if TYPE_CHECKING:
    import torch

#: ``torch.npu`` and ``torch_npu``, wherever they are.
_IN_TORCH = re.compile(r"(?:^|\.)torch[._]([a-z][a-z0-9]*)")
_SETTINGS = ("pool", "capture_error_mode")
#: The method, of any of these names, by which a class shows that it has a capability.
_METHODS = {
    "keep_graph": ("instantiate",),
    "hooks": ("register_capture_end_hook",),
    "capture_phases": ("capture_end_pre", "capture_end_post"),
    "raw_handles": ("raw_cuda_graph", "raw_xpu_graph"),
    "debug_dump": ("debug_dump",),
    "graph_data": ("get_graph_data",),
    "pools": ("pool",),
}
#: The argument of the constructor or of capture_begin by which it does.
_ARGUMENTS = {
    "keep_graph": "keep_graph",
    "pools": "pool",
    "capture_modes": "capture_error_mode",
    "liveness": "check_input_liveness",
}


def device_for(cls: type) -> torch.device:
    """The device that the class's module or the class is named after, else the current accelerator, else the host."""
    import torch

    for base in cls.__mro__[:-1]:
        of_module = _IN_TORCH.search(base.__module__)
        if of_module is not None and _module_of(of_module[1]) is not None:
            return torch.device(of_module[1], 0)
        word = base.__qualname__.removesuffix("Graph").lower()
        # A class called CUDAGraph may be anywhere.
        if getattr(_module_of(word), "is_available", lambda: False)():
            return torch.device(word, 0)
    current = torch.accelerator.current_accelerator() if hasattr(torch, "accelerator") else None
    return torch.device("cpu") if current is None else torch.device(current.type, current.index or 0)


def _module_of(word: str) -> Any:
    """The device module that torch has for devices called `word`; ``None`` if there are none."""
    import torch

    if word in {"cpu", "meta"}:
        return None
    try:
        return torch.get_device_module(torch.device(word))
    except RuntimeError:  # no kind of device is called so, or no module is registered for it
        return None


def dialect_for(cls: type) -> tuple[Dialect, str]:
    """The documented shape that the class has by its signatures, and what shows it, in words."""
    constructor, begin = _parameters(cls), _parameters(getattr(cls, "capture_begin", None))
    taken = [name for name in _SETTINGS if name in constructor]
    if taken:
        return "accelerator", f"the constructor takes {' and '.join(taken)}"
    if "capture_error_mode" in begin:
        return "cuda", "capture_begin takes capture_error_mode"
    if "pool" in begin:
        return "xpu", "capture_begin takes pool, and no capture_error_mode"
    if hasattr(cls, "__enter__"):
        return "accelerator", "capture_begin takes no settings, and the class is a context manager"
    return "cuda", "nothing in the signatures of the constructor and of capture_begin says another"


def visibly_absent(cls: type) -> dict[str, bool]:
    """Declarations for what the class has neither the method nor the argument for, each ``False``."""
    parameters = {*_parameters(cls), *_parameters(getattr(cls, "capture_begin", None))}
    absent = {name for name, methods in _METHODS.items() if not any(hasattr(cls, method) for method in methods)}
    # An argument that is passed on unseen may be anything.
    if "**" not in parameters:
        absent |= {name for name, argument in _ARGUMENTS.items() if argument not in parameters}
    if "raw_handles" in absent:
        absent.add("template_editing")
    return dict.fromkeys(sorted(absent), False)


def _parameters(function: Callable[..., Any] | None) -> Collection[str]:
    """The names of its parameters, with ``**`` for any other; none where there is no telling."""
    if function is None:
        return ()
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some callables written in C have no signature
        return ("**",)
    return ["**" if parameter.kind is parameter.VAR_KEYWORD else parameter.name for parameter in parameters]
