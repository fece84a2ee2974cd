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

from reference_impl.devices.bindings import quickest

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


# -- running again --------------------------------------------------------------------------------------------------


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
    if torch.Tag.pointwise not in func.tags or func.namespace != "aten":
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


# -- results --------------------------------------------------------------------------------------------------------


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


def _rerun_and_copy_one(rerun: Callable[[], torch.Tensor], copy: Callable[[torch.Tensor], Any]) -> None:
    copy(rerun())


def _rerun_and_copy(
    op: Any, args: Args, kwargs: Kwargs, outputs: Sequence[torch.Tensor], fresh: Sequence[bool]
) -> None:
    for output, result in zip(outputs, fresh_tensors(fresh, op(*args, **kwargs)), strict=True):
        output.copy_(result)
