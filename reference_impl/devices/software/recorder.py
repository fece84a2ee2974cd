"""The recorder: it turns operators into kernels, and runs none of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import torch
from torch._ops import OpOverload

from reference_impl.devices import operators, trials
from reference_impl.devices.mode_stack import Mode
from reference_impl.devices.rerunning import rerun
from reference_impl.devices.software.external import tensor_over, with_bits
from reference_impl.devices.software.generator import SERIAL
from reference_impl.devices.software.kernels import OperatorKernel
from reference_impl.devices.software.sinks import Sink
from reference_impl.runtime import Memory


class Recorder(Mode):
    """The dispatch mode of a thread whose operators do not simply run.

    Args:
        sink_of: returns where operators of this thread go now, or ``None`` to run them at once.
    """

    def __init__(self, sink_of: Callable[[], Sink | None]) -> None:
        super().__init__()
        self._sink_of = sink_of

    def __torch_dispatch__(
        self, func: OpOverload, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        sink = self._sink_of()
        if sink is None:
            return func(*args, **(kwargs or {}))
        kwargs = kwargs or {}
        traits = operators.traits(func)
        if not _concerns_device(func, traits, args, kwargs):
            return func(*args, **kwargs)
        body = None if traits.builtin else operators.python_body(func)
        if body is not None:
            # Host code, which runs now and never again; what it asks of the device is recorded.
            with self:
                return body(*args, **kwargs)
        if traits.host_work:
            return func(*args, **kwargs)
        return record(sink, func, args, kwargs)


def _concerns_device(func: OpOverload, traits: operators.Traits, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    if traits.takes_device:
        device = operators.argument(func, args, kwargs, "device")
        if device is not None and torch.device(device).type != "cpu":
            return False
    # No call for each tensor among the arguments: this happens at every operator.
    for value in (*args, *kwargs.values()) if kwargs else args:
        if isinstance(value, torch.Tensor):
            if not value.is_cpu:
                return False
        elif type(value) in operators.LISTS and not all(tensor.is_cpu for tensor in operators.tensors_in(value)):
            return False
    return True


def record(sink: Sink, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Turn one operator into a kernel for `sink`; return what the caller gets at once.

    Raises:
        HostReadInCapture: the operator needs values on the host, and `sink` is a capture.
        NotImplementedError: a tensor is not strided.
    """
    traits = operators.traits(func)
    if traits.literal:
        sink.keep(args[0].untyped_storage())  # a literal written in the program is part of the kernel
    if traits.view:
        return func(*args, **kwargs)
    if traits.reads_on_host or (traits.takes_indices and operators.reads_mask(func, args)):
        return sink.host_read(func, args, kwargs)
    if traits.name == "aten::resize_":
        return _resize(sink, func, args, kwargs)
    return _Recording(sink, func, args, kwargs).result()


class _Recording:
    """One operator on its way into a kernel."""

    __slots__ = ("_args", "_func", "_kwargs", "_memory", "_sink")

    def __init__(self, sink: Sink, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._sink = sink
        self._func = func
        self._args = args
        self._kwargs = kwargs
        self._memory: dict[int, Memory] = {}

    def result(self) -> Any:
        outcome, tensors = trials.outcome(self._func, self._args, self._kwargs)
        for number, shape in outcome.shapes:
            # An out= tensor of the wrong shape gets memory for the right one, as from the operator itself.
            resize(self._sink, tensors[number], shape)
        storages = [self._sink.empty(nbytes) for nbytes in outcome.storages]
        new = [_tensor(each, storages[each.storage]) for each in outcome.new]
        self._launch([new[each.number] for each in outcome.fills])
        return _filled(outcome.result, new, tensors)

    def _launch(self, outputs: list[torch.Tensor]) -> None:
        args = operators.mapped(self._alias, self._args)
        kwargs = {name: operators.mapped(self._alias, value) for name, value in self._kwargs.items()}
        run = rerun(self._func, args, kwargs, [self._alias(output) for output in outputs])
        traits = operators.traits(self._func)
        serial = self._serial() if traits.random else None
        if serial == SERIAL and self._sink.draws is not None:
            run = self._sink.draws.add(run)
        memory = self._sink.once(tuple(self._memory.values()))
        self._sink.launch(OperatorKernel(traits.name, memory, serial, run))

    def _serial(self) -> Hashable:
        generator = operators.argument(self._func, self._args, self._kwargs, "generator")
        return SERIAL if generator in (None, torch.default_generator) else ("generator", id(generator))

    def _alias(self, tensor: torch.Tensor) -> torch.Tensor:
        """A tensor over the same memory that a node may hold: it keeps no tensor of the user's alive."""
        if tensor.layout is not torch.strided:
            raise NotImplementedError(
                f"{self._func.name()}: the software device captures strided tensors only, and got {tensor.layout}"
            )
        memory, alias = self._sink.alias(tensor)
        self._memory[id(memory)] = memory
        return alias


def _tensor(new: trials.New, storage: torch.UntypedStorage) -> torch.Tensor:
    tensor = tensor_over(storage, new.dtype, new.offset, new.size, new.stride)
    return with_bits(tensor, conjugate=new.conjugate, negative=new.negative)


def _filled(described: Any, new: Sequence[torch.Tensor], tensors: Sequence[torch.Tensor]) -> Any:
    """The real result for a described one."""
    kind = type(described)
    if kind is trials.New:
        return new[described.number]
    if kind is trials.Given:
        return tensors[described.number]
    if kind in operators.LISTS:
        return kind([_filled(each, new, tensors) for each in described])
    return described


def _resize(sink: Sink, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.Tensor:
    tensor: torch.Tensor = args[0]
    stand_in = func(trials.on_meta(tensor), *args[1:], **kwargs)
    return resize(sink, tensor, stand_in.shape, stand_in.stride())


def resize(sink: Sink, tensor: torch.Tensor, shape: Sequence[int], stride: Sequence[int] | None = None) -> torch.Tensor:
    """Resize `tensor` in place; more bytes than its storage has come from `sink`, old elements first."""
    target = torch.empty(shape, device="meta") if stride is None else torch.empty_strided(shape, stride, device="meta")
    end = tensor.storage_offset() + sum((n - 1) * s for n, s in zip(target.shape, target.stride(), strict=True)) + 1
    nbytes = 0 if target.numel() == 0 else int(end) * tensor.element_size()
    storage = tensor.untyped_storage()
    if nbytes <= storage.nbytes():
        tensor.set_(storage, tensor.storage_offset(), target.size(), target.stride())
        return tensor
    grown = sink.empty(nbytes)
    before = torch.empty(0, dtype=tensor.dtype).set_(storage)
    after = torch.empty(0, dtype=tensor.dtype).set_(grown, 0, before.size(), before.stride())
    if before.numel():
        record(sink, torch.ops.aten.copy_.default, (after, before), {})
    tensor.set_(grown, tensor.storage_offset(), target.size(), target.stride())
    return tensor
