"""What a call of an operator would return, found out without touching the memory of its arguments.

An operator is tried once for each kind of call: sizes, strides and dtypes of its tensors and the values of its other
arguments decide what comes back.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import torch
from torch._ops import OpOverload

from reference_impl.devices.operators import (
    LISTS,
    Args,
    Kwargs,
    argument_position,
    fresh_results,
    fresh_tensors,
    is_random,
    mapped,
    tensors_in,
    traits,
)


@dataclasses.dataclass(frozen=True)
class New:
    """A tensor of a result that is new memory; it stands for that tensor in an `Outcome`.

    Attributes:
        number: its own among the new tensors.
        storage: number of its storage among the new ones.
        dtype, size, stride, offset: its layout in that storage, in elements.
        conjugate: whether its lazy conjugate bit is set.
        negative: likewise its lazy negative bit.
    """

    number: int
    storage: int
    dtype: torch.dtype
    size: torch.Size
    stride: tuple[int, ...]
    offset: Any
    conjugate: bool
    negative: bool


@dataclasses.dataclass(frozen=True)
class Given:
    """Stands in an `Outcome` for the argument that the operator returns: its number among the call's tensors."""

    number: int


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a call returns.

    Attributes:
        result: the result, with a `New` or a `Given` in place of each tensor.
        new: each new tensor in the result, once.
        fills: those of them that a repetition of the call has to write, in the order of the operator's results.
        storages: the bytes of each new storage.
        shapes: numbers and sizes of the call's tensors that the operator resizes (``out=`` arguments of another shape).
    """

    result: Any
    new: tuple[New, ...]
    fills: tuple[New, ...]
    storages: tuple[int, ...]
    shapes: tuple[tuple[int, torch.Size], ...]


#: Outcomes by kind of call.
_known: dict[Hashable, Outcome] = {}
_MOST_KNOWN = 10_000


def outcome(func: OpOverload, args: Args, kwargs: Kwargs) -> tuple[Outcome, list[torch.Tensor]]:
    """What a call would return, and the call's tensors, each once, in order.

    Raises:
        Exception: whatever the operator raises for such arguments on any memory.
    """
    tensors: dict[int, torch.Tensor] = {}
    key = _kind_of_call(func, args, kwargs, tensors)
    known = None if key is None else _known.get(key)
    if known is None:
        tensors = {id(tensor): tensor for tensor in tensors_in((*args, *kwargs.values()))}
        known = _tried(func, args, kwargs, tensors)
        if key is not None:
            if len(_known) >= _MOST_KNOWN:
                _known.clear()
            _known[key] = known
    return known, list(tensors.values())


# -- kinds of calls -------------------------------------------------------------------------------------------------

#: Arguments that say all by their values.
_PLAIN = frozenset(
    {bool, int, float, complex, str, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format}
)


def _kind_of_call(func: OpOverload, args: Args, kwargs: Kwargs, tensors: dict[int, torch.Tensor]) -> Hashable | None:
    """Equal for calls that have the same outcome; ``None`` where nobody can tell.  Notes the call's tensors."""
    if not traits(func).builtin:
        return None  # its author's own function says what it returns, by whatever it likes
    key: list[Any] = [
        func,
        torch.get_default_dtype(),
        torch._C._get_deterministic_algorithms(),
        torch._C._get_mkldnn_enabled(),
    ]
    if not _note(args, key, tensors):
        return None
    for name, value in kwargs.items():
        key.append(name)
        if not _note((value,), key, tensors):
            return None
    return tuple(key)


def _note(values: Iterable[Any], key: list[Any], tensors: dict[int, torch.Tensor]) -> bool:
    """Add what decides the outcome to `key`; return whether all of `values` are of known kinds."""
    for value in values:
        kind = type(value)
        if isinstance(value, torch.Tensor):
            if id(value) in tensors:
                key.append(list(tensors).index(id(value)))  # the same tensor again
                continue
            if value.layout is not torch.strided:
                return False
            tensors[id(value)] = value
            key += (value.dtype, value.shape, value.stride())
        elif kind in _PLAIN:
            key += (kind, value)
        elif kind in LISTS:
            key += (kind, len(value))
            if not _note(value, key, tensors):
                return False
        elif kind is torch.Generator:
            key.append(kind)  # a trial draws from another one
        else:
            return False
    return True


# -- trials ---------------------------------------------------------------------------------------------------------


def _tried(func: OpOverload, args: Args, kwargs: Kwargs, tensors: dict[int, torch.Tensor]) -> Outcome:
    # A trial on scratch memory knows the layout that this device gives.  The operator's meta kernel only predicts it,
    # but does not mind values; and a custom operator's fake kernel is what its author wants to be asked.
    ways = (_on_scratch, on_meta) if traits(func).builtin else (on_meta, _on_scratch)
    try:
        return _try(func, args, kwargs, tensors, ways[0])
    except Exception as first:
        try:
            return _try(func, args, kwargs, tensors, ways[1])
        except Exception:
            raise first from None


def _try(
    func: OpOverload,
    args: Args,
    kwargs: Kwargs,
    tensors: dict[int, torch.Tensor],
    stand_in: Callable[[torch.Tensor], torch.Tensor],
) -> Outcome:
    stand_ins = {identity: stand_in(tensor) for identity, tensor in tensors.items()}

    def replace(tensor: torch.Tensor) -> torch.Tensor:
        return stand_ins[id(tensor)]

    args = mapped(replace, args)
    kwargs = {name: mapped(replace, value) for name, value in kwargs.items()}
    if stand_in is on_meta and argument_position(func, "device") is not None:
        kwargs = {**kwargs, "device": torch.device("meta")}
        if kwargs.get("pin_memory"):
            kwargs["pin_memory"] = False
    result = func(*args, **kwargs) if not is_random(func) else _drawn(func, args, kwargs)
    return _outcome(func, result, list(stand_ins.values()), list(tensors.values()))


def _drawn(func: OpOverload, args: Args, kwargs: Kwargs) -> Any:
    """The result of a random operator, from the default generator, whose state is put back."""
    index = argument_position(func, "generator")
    if index is not None:  # it may be one of the program's own
        args = (*args[:index], *(None for _ in args[index : index + 1]), *args[index + 1 :])
        kwargs = {name: None if name == "generator" else value for name, value in kwargs.items()}
    with torch.random.fork_rng(devices=[]):
        return func(*args, **kwargs)


def on_meta(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor of the same layout without memory."""
    return torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device="meta")


def _on_scratch(tensor: torch.Tensor) -> torch.Tensor:
    # Zeros are valid where poison would not be: as indices, as classes, as lengths.
    end = sum((size - 1) * stride for size, stride in zip(tensor.size(), tensor.stride(), strict=True)) + 1
    return torch.zeros(max(end, 0), dtype=tensor.dtype).as_strided(tensor.size(), tensor.stride())


def _outcome(func: OpOverload, result: Any, stand_ins: list[torch.Tensor], tensors: list[torch.Tensor]) -> Outcome:
    given = {id(stand_in): Given(number) for number, stand_in in enumerate(stand_ins)}
    new: dict[int, New] = {}
    storages: dict[int, torch.UntypedStorage] = {}

    def described(tensor: torch.Tensor) -> New | Given:
        if id(tensor) in given:
            return given[id(tensor)]
        if id(tensor) not in new:
            storage = tensor.untyped_storage()
            storages.setdefault(storage._cdata, storage)
            new[id(tensor)] = New(
                len(new),
                list(storages).index(storage._cdata),
                tensor.dtype,
                tensor.size(),
                tensor.stride(),
                tensor.storage_offset(),
                tensor.is_conj(),
                tensor.is_neg(),
            )
        return new[id(tensor)]

    whole = mapped(described, result)
    fills = [new[id(tensor)] for tensor in fresh_tensors(fresh_results(func), result)]
    shapes = [
        (number, stand_in.shape)
        for number, (stand_in, tensor) in enumerate(zip(stand_ins, tensors, strict=True))
        if stand_in.shape != tensor.shape
    ]
    sizes = tuple(storage.nbytes() for storage in storages.values())
    return Outcome(whole, tuple(new.values()), tuple(fills), sizes, tuple(shapes))
