"""What an operator does, read from its schema: the facts that turn a call into a graph node.

Nothing here knows of graphs or streams.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch._library.custom_ops import OPDEFS
from torch._ops import OpOverload

Args = tuple[Any, ...]
Kwargs = dict[str, Any]


@functools.cache
def is_view(func: OpOverload) -> bool:
    """Whether the operator only re-describes its input's memory, so that it is done when it is called."""
    if torch.Tag.inplace_view in func.tags:
        return bool(func.name() != "aten::resize_")
    schema = func._schema
    if any(argument.alias_info is not None and argument.alias_info.is_write for argument in schema.arguments):
        return False
    return any(result.alias_info is not None for result in schema.returns)


@functools.cache
def python_body(func: OpOverload) -> Callable[..., Any] | None:
    """The Python function behind a custom operator, for a CPU or for any device, or ``None`` for other operators."""
    definition = OPDEFS.get(func.name())
    if definition is None:
        return None
    bodies: dict[str | None, Callable[..., Any]] = definition._backend_fns
    return bodies.get("cpu", bodies.get(None))


@functools.cache
def reads_on_host(func: OpOverload) -> bool:
    """Whether the operator always brings values to the host (sizes that depend on data, scalars)."""
    if func.name() == "aten::index.Tensor":  # only for masks: see `reads_mask`
        return False
    return torch.Tag.data_dependent_output in func.tags or torch.Tag.dynamic_output_shape in func.tags


@functools.cache
def _takes_indices(func: OpOverload) -> bool:
    return func.overloadpacket.__name__ in {"index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index"}


def reads_mask(func: OpOverload, args: Args) -> bool:
    """Whether this call indexes by a mask, which has to be counted on the host first."""
    if not _takes_indices(func):
        return False
    indices = [index for index in args[1] if isinstance(index, torch.Tensor)]
    masks = [index for index in indices if index.dtype in (torch.bool, torch.uint8)]
    # One number for all that a mask picks: filled where the mask says so, and nothing is counted.
    fills = len(masks) == len(indices) == 1 and len(args) > 2 and args[2].numel() == 1
    return bool(masks) and not fills


def known_equality(func: OpOverload, args: Args) -> bool | None:
    """What ``torch.equal`` gives on a GPU without a look at values; ``None`` where it needs one, and elsewhere."""
    if func.name() != "aten::equal":
        return None
    one, other = args
    if one.shape != other.shape:
        return False
    if one.numel() == 0 or (one.data_ptr() == other.data_ptr() and _describes_the_same(one, other)):
        return True
    return None


def _describes_the_same(one: torch.Tensor, other: torch.Tensor) -> bool:
    facts = [(each.dtype, each.stride(), each.is_conj(), each.is_neg()) for each in (one, other)]
    return facts[0] == facts[1]


@functools.cache
def is_random(func: OpOverload) -> bool:
    """Whether the operator draws from a generator."""
    return torch.Tag.nondeterministic_seeded in func.tags


@functools.cache
def _position(func: OpOverload, name: str) -> int | None:
    """Where the schema has the argument `name`: its index, or ``None``."""
    return next((i for i, argument in enumerate(func._schema.arguments) if argument.name == name), None)


def argument(func: OpOverload, args: Args, kwargs: Kwargs, name: str) -> Any:
    """The value that a call gives to the argument `name`, or ``None``."""
    if name in kwargs:
        return kwargs[name]
    index = _position(func, name)
    return args[index] if index is not None and index < len(args) else None


@functools.cache
def written_arguments(func: OpOverload) -> tuple[tuple[int, str], ...]:
    """Index and name of each argument that the operator writes to."""
    return tuple(
        (index, argument.name)
        for index, argument in enumerate(func._schema.arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
    )


def written_tensors(func: OpOverload, args: Args, kwargs: Kwargs) -> list[torch.Tensor]:
    """The tensors of a call that the operator writes to, lists flattened, in the schema's order."""
    return tensors_in(
        kwargs[name] if name in kwargs else args[index] if index < len(args) else None
        for index, name in written_arguments(func)
    )


def tensors_in(values: Iterable[Any]) -> list[torch.Tensor]:
    """Every tensor among the arguments or results of an operator, lists flattened."""
    tensors: list[torch.Tensor] = []
    for value in values:
        if isinstance(value, torch.Tensor):
            tensors.append(value)
        elif type(value) in _LISTS:
            tensors += tensors_in(value)
    return tensors


def mapped(change: Callable[[torch.Tensor], Any], value: Any) -> Any:
    """`value`, an operator's argument or result, with `change` applied to each tensor in it, lists included.

    Operators know no other nesting, and torch's own tree functions take several times as long.
    """
    if isinstance(value, torch.Tensor):
        return change(value)
    kind = type(value)
    if kind not in _LISTS:
        return value
    # No call for a number or a name among the arguments: this happens at every operator.
    return kind(
        [
            change(each) if isinstance(each, torch.Tensor) else mapped(change, each) if type(each) in _LISTS else each
            for each in value
        ]
    )


_LISTS = (list, tuple)


# -- outputs without running ----------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Description:
    """What a call would return, from a trial with stand-ins for its tensors.

    Attributes:
        result: the result with tensors that carry only sizes, strides and dtype; an operator that returns its argument
            returned the stand-in.
        stand_ins: by the ``id`` of each tensor argument, what was passed for it.
        arguments: by the ``id`` of each stand-in, the tensor argument.
    """

    result: Any
    stand_ins: dict[int, torch.Tensor]
    arguments: dict[int, torch.Tensor]


def describe_outputs(func: OpOverload, args: Args, kwargs: Kwargs) -> Description:
    """What a call would return, without touching the memory of its arguments.

    Raises:
        Exception: whatever the operator raises for such arguments on any memory.
    """
    # A trial on scratch memory knows the layout that this device gives.  The operator's meta kernel only predicts it,
    # but does not mind values; and a custom operator's fake kernel is what its author wants to be asked.
    ways = (_on_scratch, _on_meta) if func.namespace == "aten" else (_on_meta, _on_scratch)
    try:
        return _describe(func, args, kwargs, ways[0])
    except Exception as first:
        try:
            return _describe(func, args, kwargs, ways[1])
        except Exception:
            raise first from None


def _describe(
    func: OpOverload, args: Args, kwargs: Kwargs, stand_in: Callable[[torch.Tensor], torch.Tensor]
) -> Description:
    stand_ins: dict[int, torch.Tensor] = {}
    arguments: dict[int, torch.Tensor] = {}

    def replace(tensor: torch.Tensor) -> torch.Tensor:
        if id(tensor) not in stand_ins:
            replacement = stand_ins[id(tensor)] = stand_in(tensor)
            arguments[id(replacement)] = tensor
        return stand_ins[id(tensor)]

    args = mapped(replace, args)
    kwargs = {name: mapped(replace, value) for name, value in kwargs.items()}
    if stand_in is _on_meta and _position(func, "device") is not None:
        kwargs = {**kwargs, "device": torch.device("meta")}
        if kwargs.get("pin_memory"):
            kwargs["pin_memory"] = False
    if not is_random(func):
        return Description(func(*args, **kwargs), stand_ins, arguments)
    with torch.random.fork_rng(devices=[]):
        args, kwargs = _with_the_default_generator(func, args, kwargs)
        return Description(func(*args, **kwargs), stand_ins, arguments)


def _with_the_default_generator(func: OpOverload, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """A trial draws from the default generator, whose state is put back, and not from one of the program's own."""
    index = _position(func, "generator")
    if index is None:
        return args, kwargs
    return (*args[:index], *(None for _ in args[index : index + 1]), *args[index + 1 :]), {
        name: None if name == "generator" else value for name, value in kwargs.items()
    }


def _on_meta(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device="meta")


def _on_scratch(tensor: torch.Tensor) -> torch.Tensor:
    # Zeros are valid where poison would not be: as indices, as classes, as lengths.
    end = sum((size - 1) * stride for size, stride in zip(tensor.size(), tensor.stride(), strict=True)) + 1
    return torch.zeros(max(end, 0), dtype=tensor.dtype).as_strided(tensor.size(), tensor.stride())


# -- running again --------------------------------------------------------------------------------------------------


@functools.cache
def out_variant(func: OpOverload) -> tuple[OpOverload, tuple[str, ...]] | None:
    """The overload that computes the same into given tensors, with the names of its ``out`` arguments, or ``None``."""
    if any(not isinstance(result.type, torch.TensorType) for result in func._schema.returns):
        return None
    if _SAME_BITS.isdisjoint(func.tags):
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
    if not outputs:
        return functools.partial(func._op, *args, **kwargs)
    variant = out_variant(func)
    if variant is not None and len(variant[1]) == len(outputs):  # a result may be None (a gradient nobody asked for)
        overload, names = variant
        known = {argument.name for argument in overload._schema.arguments}
        keywords = {name: value for name, value in kwargs.items() if name in known}
        return functools.partial(overload._op, *args, **keywords, **dict(zip(names, outputs, strict=True)))
    return functools.partial(_rerun_and_copy, func._op, args, kwargs, outputs, fresh_results(func))


@functools.cache
def fresh_results(func: OpOverload) -> tuple[bool, ...]:
    """For each declared result, whether it is new memory rather than an argument that was written to."""
    return tuple(result.alias_info is None for result in func._schema.returns)


def fresh_tensors(fresh: Sequence[bool], result: Any) -> list[torch.Tensor]:
    """The tensors in an operator's result that are new memory, flattened.

    Args:
        fresh: for each declared result, whether it is new.
        result: what the operator returned: nothing, one result, or a tuple of several.
    """
    results = result if len(fresh) > 1 else (result,) * len(fresh)
    return tensors_in([value for value, is_new in zip(results, fresh, strict=True) if is_new])


def _rerun_and_copy(
    op: Any, args: Args, kwargs: Kwargs, outputs: Sequence[torch.Tensor], fresh: Sequence[bool]
) -> None:
    for output, result in zip(outputs, fresh_tensors(fresh, op(*args, **kwargs)), strict=True):
        output.copy_(result)
