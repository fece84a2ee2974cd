"""The recorder: it turns operators into kernels, and runs none of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import torch
from torch._ops import OpOverload
from torch.utils._python_dispatch import TorchDispatchMode

from reference_impl.devices import operators
from reference_impl.devices.software.external import alias_of
from reference_impl.devices.software.generator import SERIAL
from reference_impl.devices.software.kernels import OperatorKernel
from reference_impl.devices.software.sinks import Sink
from reference_impl.runtime import Memory


class Recorder(TorchDispatchMode):
    """The dispatch mode of a thread whose operators do not simply run.

    Args:
        sink_of: returns where operators of this thread go now, or ``None`` to run them at once.
    """

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Guarding the mode against the compiler would import the compiler, which takes seconds.
        return False

    def __init__(self, sink_of: Callable[[], Sink | None]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._sink_of = sink_of

    def __torch_dispatch__(
        self, func: OpOverload, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        sink = self._sink_of()
        if sink is None or not _concerns_device(func, args, kwargs):
            return func(*args, **kwargs)
        body = operators.python_body(func)
        if body is not None:
            # Host code, which runs now and never again; what it asks of the device is recorded.
            with self:
                return body(*args, **kwargs)
        return record(sink, func, args, kwargs)


def _concerns_device(func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    device = operators.argument(func, args, kwargs, "device")
    if device is not None and torch.device(device).type != "cpu":
        return False
    return all(tensor.is_cpu for tensor in operators.tensors_in((*args, *kwargs.values())))


def record(sink: Sink, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Turn one operator into a kernel for `sink`; return what the caller gets at once.

    Raises:
        HostReadInCapture: the operator needs values on the host, and `sink` is a capture.
        NotImplementedError: a tensor is not strided.
    """
    if func.name() in ("aten::lift_fresh", "aten::lift_fresh_copy"):
        sink.keep(args[0].untyped_storage())  # a literal written in the program is part of the kernel
    if operators.is_view(func):
        return func(*args, **kwargs)
    if operators.reads_on_host(func) or operators.reads_mask(func, args):
        return sink.host_read(func, args, kwargs)
    if func.name() == "aten::resize_":
        return _resize(sink, func, args, kwargs)
    return _Recording(sink, func, args, kwargs).result()


class _Recording:
    """One operator on its way into a kernel."""

    def __init__(self, sink: Sink, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._sink = sink
        self._func = func
        self._args = args
        self._kwargs = kwargs
        self._memory: dict[int, Memory] = {}

    def result(self) -> Any:
        described = operators.describe_outputs(self._func, self._args, self._kwargs)
        if operators.written_arguments(self._func):
            self._fit_written_tensors(described)
        result, outputs = self._allocate(described)
        self._launch(outputs)
        return result

    def _fit_written_tensors(self, described: operators.Description) -> None:
        """Give an ``out=`` tensor of the wrong shape memory for the right one, as the operator itself would."""
        for tensor in operators.written_tensors(self._func, self._args, self._kwargs):
            shape = described.stand_ins[id(tensor)].shape
            if tensor.shape != shape:
                resize(self._sink, tensor, shape)

    def _allocate(self, described: operators.Description) -> tuple[Any, list[torch.Tensor]]:
        """The real result for a described one, and the tensors in it that are new memory."""
        new: dict[int, torch.Tensor] = {}
        storages: dict[int, torch.UntypedStorage] = {}

        def real(tensor: torch.Tensor) -> torch.Tensor:
            if id(tensor) in described.arguments:
                return described.arguments[id(tensor)]
            if id(tensor) not in new:
                new[id(tensor)] = self._empty_like(tensor, storages)
            return new[id(tensor)]

        result = operators.mapped(real, described.result)
        fresh = operators.fresh_tensors(operators.fresh_results(self._func), described.result)
        return result, [new[id(tensor)] for tensor in fresh]

    def _empty_like(self, described: torch.Tensor, storages: dict[int, torch.UntypedStorage]) -> torch.Tensor:
        storage = described.untyped_storage()
        if storage._cdata not in storages:
            storages[storage._cdata] = self._sink.empty(storage.nbytes())
        return alias_of(described, storages[storage._cdata])

    def _launch(self, outputs: list[torch.Tensor]) -> None:
        args = operators.mapped(self._alias, self._args)
        kwargs = {name: operators.mapped(self._alias, value) for name, value in self._kwargs.items()}
        run = operators.rerun(self._func, args, kwargs, [self._alias(output) for output in outputs])
        serial = self._serial() if operators.is_random(self._func) else None
        if serial == SERIAL and self._sink.draws is not None:
            run = self._sink.draws.add(run)
        self._sink.launch(OperatorKernel(self._func.name(), tuple(self._memory.values()), serial, run))

    def _serial(self) -> Hashable:
        generator = operators.argument(self._func, self._args, self._kwargs, "generator")
        return SERIAL if generator in (None, torch.default_generator) else ("generator", id(generator))

    def _alias(self, tensor: torch.Tensor) -> torch.Tensor:
        """A tensor over the same memory that a node may hold: it keeps no tensor of the user's alive."""
        if tensor.layout is not torch.strided:
            raise NotImplementedError(
                f"{self._func.name()}: the software device captures strided tensors only, and got {tensor.layout}"
            )
        memory = self._sink.reach(tensor.untyped_storage())
        self._memory[id(memory)] = memory
        return memory.alias(tensor)


def _resize(sink: Sink, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.Tensor:
    tensor: torch.Tensor = args[0]
    stand_in = func(operators._on_meta(tensor), *args[1:], **kwargs)
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
