"""PyTorch's own Python functions as the quickest way to call an operator.

``torch.ops`` matches each call with the operator's schema, which takes longer than many an operator.  The functions of
``torch`` do not; but which operator one of them calls depends on its arguments.  So each is tried on a call before it
is used for calls of that kind: a mode sees what arrives, and nothing runs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import torch
from torch._ops import OpOverload

from reference_impl.devices.mode_stack import Mode
from reference_impl.devices.operators import LISTS, traits

_C: Any = torch._C  # PyTorch's stub does not name all of these
_HOLDERS: tuple[Any, ...] = (
    _C.TensorBase,
    _C._VariableFunctions,
    _C._nn,
    _C._linalg,
    _C._special,
    _C._fft,
)

_quickest: dict[Hashable, Callable[..., Any]] = {}


def quickest(
    overload: OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any], result: Callable[[], Any]
) -> Callable[..., Any]:
    """What calls `overload` with such arguments, and nothing else, in the shortest time.

    Args:
        overload: the operator.
        args: of a call.
        kwargs: of the same call.
        result: gives such tensors as that call returns.
    """
    kind: list[Any] = [overload, *[_kind(value) if type(value) in LISTS else type(value) for value in args]]
    for name, value in kwargs.items():
        kind += name, _kind(value)
    key = tuple(kind)
    found = _quickest.get(key)
    if found is None:
        found = _quickest[key] = _search(overload, args, kwargs, result())
    return found


def _kind(value: Any) -> Any:
    """What PyTorch's argument parser goes by, but for sizes: see `_calls`."""
    kind = type(value)
    return (kind, *map(_kind, value)) if kind in LISTS else kind


def _search(overload: OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any) -> Callable[..., Any]:
    name = overload.overloadpacket.__name__
    if traits(overload).builtin:
        with torch._C.DisableTorchFunction():  # nothing of this is the program's
            for holder in _HOLDERS:
                function: Callable[..., Any] | None = getattr(holder, name, None)
                if function is not None and _calls(function, overload, args, kwargs, result):
                    return function
    op: Callable[..., Any] = overload._op
    return op


def _calls(
    function: Callable[..., Any], overload: OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any
) -> bool:
    """Whether `function` hands these very arguments to `overload`, and to nothing else."""
    # A tensor without dimensions could stand for a number, and lead to another operator: so that is tried, too.
    for call in ((args, kwargs), (_without_dimensions(args), _without_dimensions(kwargs))):
        probe = _Probe(result)
        try:
            with probe:
                function(*call[0], **call[1])
        except Exception:  # the function takes no such arguments
            return False
        if len(probe.calls) != 1 or probe.calls[0][0] is not overload or not _same(probe.calls[0][1:], call):
            return False
    return True


def _without_dimensions(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return torch.empty((), dtype=value.dtype)
    if isinstance(value, dict):
        return {name: _without_dimensions(each) for name, each in value.items()}
    return [*map(_without_dimensions, value)] if type(value) in LISTS else value


class _Probe(Mode):
    """Notes operators instead of running them; each returns `result`."""

    def __init__(self, result: Any) -> None:
        super().__init__()
        self._result = result
        self.calls: list[tuple[OpOverload, tuple[Any, ...], dict[str, Any]]] = []

    def __torch_dispatch__(
        self, func: OpOverload, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self.calls.append((func, args, kwargs or {}))
        return self._result


def _same(seen: Any, given: Any) -> bool:
    """Whether two structures hold the same tensors, and equal values of one type elsewhere."""
    if isinstance(given, torch.Tensor):
        return seen is given
    if isinstance(given, list | tuple):
        same_length = isinstance(seen, list | tuple) and len(seen) == len(given)
        return same_length and all(map(_same, seen, given))
    if isinstance(given, dict):
        return seen.keys() == given.keys() and all(_same(seen[name], value) for name, value in given.items())
    return type(seen) is type(given) and bool(seen == given)
