"""An operator that runs again: a call with bound arguments that gives the same bits and takes as little as it can."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._ops import OpOverload

from reference_impl.devices.bindings import quickest
from reference_impl.devices.operators import (
    Args,
    Kwargs,
    argument,
    fresh_results,
    fresh_tensors,
    traits,
    written_tensors,
)


@functools.cache
def out_variant(func: OpOverload) -> tuple[OpOverload, tuple[str, ...]] | None:
    """The overload that computes the same into given tensors, with the names of its ``out`` arguments, or ``None``."""
    if any(not isinstance(result.type, torch.TensorType) for result in func._schema.returns):
        return None
    if _SAME_BITS.isdisjoint(func.tags) and func.name() not in _ONE_KERNEL:
        return None
    packet = func.overloadpacket
    inputs = _inputs(func)
    # The out= form of a factory leaves out what the given tensor already says.
    remainder = [pair for pair in inputs if pair[0] not in {"dtype", "layout", "device", "pin_memory", "memory_format"}]
    for name in packet.overloads():
        candidate = getattr(packet, name)
        outs = tuple(argument.name for argument in candidate._schema.arguments if argument.is_out)
        if outs and len(outs) == len(func._schema.returns) and _inputs(candidate) in (inputs, remainder):
            return candidate, outs
    return None


#: Operators whose out= form computes as the plain one does.  Others (matrix decompositions, some losses) take another
#: path when the layout of the result is given, and their last bits differ.
_SAME_BITS = frozenset({torch.Tag.core, torch.Tag.pointwise})
#: Operators without those tags of which it is known: both forms are one kernel.  (Not so ``mse_loss``, whose out= form
#: resizes its result.)
_ONE_KERNEL = frozenset(
    {
        "aten::_log_softmax_backward_data",
        "aten::_softmax_backward_data",
        "aten::mse_loss_backward",
        "aten::nll_loss_backward",
        "aten::nll_loss_forward",
    }
)


def _inputs(func: OpOverload) -> list[tuple[str, str]]:
    return [(argument.name, str(argument.type)) for argument in func._schema.arguments if not argument.is_out]


def rerun(func: OpOverload, args: Args, kwargs: Kwargs, outputs: Sequence[torch.Tensor]) -> Callable[[], Any]:
    """A call that repeats the operator on the same memory, results going to `outputs`.

    Args:
        func: the operator.
        args: the call's arguments, tensors replaced by aliases of their memory.
        kwargs: likewise.
        outputs: where the new results go, in the order in which the flattened result has them; empty for an operator
            that only writes to its arguments.
    """
    way = _way(func)
    if way.elementwise:
        args = _with_tensors_for_numbers(way.elementwise, args)
    if not outputs:
        return _bound(func, args, kwargs, lambda: written_tensors(func, args, kwargs))
    if way.fills and len(outputs) == 1:
        return functools.partial(torch.Tensor.fill_, outputs[0], _filled_with(func, args, kwargs))
    variant = way.out
    if variant is not None and len(variant[1]) == len(outputs):  # a result may be None (a gradient nobody asked for)
        overload, names = variant
        keywords = {name: kwargs[name] for name in kwargs if name in argument_names(overload)} if kwargs else {}
        keywords.update(zip(names, outputs, strict=True))
        return _bound(overload, args, keywords, lambda: outputs)
    if way.returns_one:
        call = _bound(func, args, kwargs, lambda: outputs)
        return functools.partial(_rerun_and_copy_one, call, outputs[0].copy_)
    return functools.partial(_rerun_and_copy, func._op, args, kwargs, outputs, fresh_results(func))


@dataclasses.dataclass(frozen=True, slots=True)
class _Way:
    """How an operator is repeated.

    Attributes:
        elementwise: see `_elementwise_tensors`.
        fills: see `_fills`.
        out: see `out_variant`.
        returns_one: whether it returns one new tensor.
    """

    elementwise: tuple[int, ...]
    fills: bool
    out: tuple[OpOverload, tuple[str, ...]] | None
    returns_one: bool


@functools.cache
def _way(func: OpOverload) -> _Way:
    one = fresh_results(func) == (True,) and isinstance(func._schema.returns[0].type, torch.TensorType)
    return _Way(_elementwise_tensors(func), _fills(func), out_variant(func), one)


def _bound(
    func: OpOverload, args: Args, kwargs: Kwargs, results: Callable[[], Sequence[torch.Tensor]]
) -> Callable[[], Any]:
    """A call of an operator that returns such tensors as `results`, if any."""

    def result() -> Any:
        tensors, returns = results(), len(func._schema.returns)
        return tuple(tensors) if returns > 1 else tensors[0] if returns and tensors else None

    return functools.partial(quickest(func, args, kwargs, result), *args, **kwargs)


@functools.cache
def argument_names(func: OpOverload) -> frozenset[str]:
    """The names of all arguments in the schema."""
    return frozenset(argument.name for argument in func._schema.arguments)


# -- numbers for tensors --------------------------------------------------------------------------------------------

#: By dtype, the kinds of numbers that a tensor of that dtype takes without becoming one of another dtype.  Narrower
#: ones are left out: with those, some kernels compute with the number as it was before it was rounded.
_TAKES: dict[torch.dtype, tuple[type, ...]] = {
    torch.int64: (int,),
    torch.float32: (int, float),
    torch.float64: (int, float),
}


def _with_tensors_for_numbers(positions: Sequence[int], args: Args) -> Args:
    """The arguments of a call, with tensors for the numbers that the operator would make tensors of at each call.

    Args:
        positions: where the operator takes tensors, or numbers in their place.
        args: of the call.
    """
    numbers = [index for index in positions if index < len(args) and not isinstance(args[index], torch.Tensor)]
    if not numbers:
        return args
    dtypes = {args[index].dtype for index in positions if index < len(args) and index not in numbers}
    if len(dtypes) != 1:
        return args
    (dtype,) = dtypes
    takes = _TAKES.get(dtype, ())
    changed = list(args)
    for index in numbers:
        if type(args[index]) in takes:
            changed[index] = _constant(args[index], repr(args[index]), dtype)
    return tuple(changed)


@functools.cache
def _elementwise_tensors(func: OpOverload) -> tuple[int, ...]:
    """Where an elementwise operator takes tensors, or numbers in their place."""
    if torch.Tag.pointwise not in func.tags or not traits(func).builtin:
        return ()
    return tuple(
        index
        for index, argument in enumerate(func._schema.arguments)
        if isinstance(argument.type, torch.TensorType) and not argument.kwarg_only
    )


@functools.lru_cache(maxsize=1024, typed=True)
def _constant(value: float, text: str, dtype: torch.dtype) -> torch.Tensor:  # noqa: ARG001  # text tells 0.0 from -0.0
    # By way of the dtype that the operator would give to the number.
    exact = torch.float64 if isinstance(value, float) else torch.int64
    return torch.tensor(value, dtype=exact, device="cpu").to(dtype)


# -- factories of one value -----------------------------------------------------------------------------------------

_ZEROS = frozenset({"aten::zeros", "aten::zeros_like", "aten::new_zeros"})
_ONES = frozenset({"aten::ones", "aten::ones_like", "aten::new_ones"})
_FULL = frozenset({"aten::full", "aten::full_like", "aten::new_full"})


@functools.cache
def _fills(func: OpOverload) -> bool:
    """Whether the operator makes a tensor that has one value everywhere."""
    return func.name() in _ZEROS | _ONES | _FULL


def _filled_with(func: OpOverload, args: Args, kwargs: Kwargs) -> Any:
    if func.name() in _FULL:
        return argument(func, args, kwargs, "fill_value")
    return int(func.name() in _ONES)


def _rerun_and_copy_one(rerun: Callable[[], torch.Tensor], copy: Callable[[torch.Tensor], Any]) -> None:
    copy(rerun())


def _rerun_and_copy(
    op: Any, args: Args, kwargs: Kwargs, outputs: Sequence[torch.Tensor], fresh: Sequence[bool]
) -> None:
    for output, result in zip(outputs, fresh_tensors(fresh, op(*args, **kwargs)), strict=True):
        output.copy_(result)
