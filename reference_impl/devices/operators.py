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


@dataclasses.dataclass(frozen=True, slots=True)
class Traits:
    """What the recorder asks of every operator, looked up once.

    Attributes:
        name: with its namespace, without its overload.
        host_work: see `is_host_work`.
        view: see `is_view`.
        literal: whether it brings a literal of the program into a tensor.
        builtin: whether it is PyTorch's own.
        reads_on_host: see `reads_on_host`.
        takes_indices: whether it may index by a mask: see `reads_mask`.
        random: see `is_random`.
        takes_device: whether it can be told a device.
    """

    name: str
    host_work: bool
    view: bool
    literal: bool
    builtin: bool
    reads_on_host: bool
    takes_indices: bool
    random: bool
    takes_device: bool


@functools.cache
def traits(func: OpOverload) -> Traits:
    """The traits of an operator."""
    return Traits(
        name=func.name(),
        host_work=is_host_work(func),
        view=is_view(func),
        literal=func.name() in ("aten::lift_fresh", "aten::lift_fresh_copy"),
        builtin=func.namespace == "aten",
        reads_on_host=reads_on_host(func),
        takes_indices=_takes_indices(func),
        random=is_random(func),
        takes_device=argument_position(func, "device") is not None,
    )


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
def is_host_work(func: OpOverload) -> bool:
    """Whether the operator neither takes nor gives tensors, as marks for a profiler: no device has part in it."""
    schema = func._schema
    return not any("Tensor" in str(each.type) for each in (*schema.arguments, *schema.returns))


@functools.cache
def is_random(func: OpOverload) -> bool:
    """Whether the operator draws from a generator."""
    return torch.Tag.nondeterministic_seeded in func.tags


@functools.cache
def argument_position(func: OpOverload, name: str) -> int | None:
    """Where the schema has the argument `name`: its index, or ``None``."""
    return next((i for i, argument in enumerate(func._schema.arguments) if argument.name == name), None)


def argument(func: OpOverload, args: Args, kwargs: Kwargs, name: str) -> Any:
    """The value that a call gives to the argument `name`, or ``None``."""
    if name in kwargs:
        return kwargs[name]
    index = argument_position(func, name)
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
        elif type(value) in LISTS:
            tensors += tensors_in(value)
    return tensors


def mapped(change: Callable[[torch.Tensor], Any], value: Any) -> Any:
    """`value`, an operator's argument or result, with `change` applied to each tensor in it, lists included.

    Operators know no other nesting, and torch's own tree functions take several times as long.
    """
    if isinstance(value, torch.Tensor):
        return change(value)
    kind = type(value)
    if kind not in LISTS:
        return value
    # No call for a number or a name among the arguments: this happens at every operator.
    return kind(
        [
            change(each) if isinstance(each, torch.Tensor) else mapped(change, each) if type(each) in LISTS else each
            for each in value
        ]
    )


#: What operators know of nesting.
LISTS = (list, tuple)


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
