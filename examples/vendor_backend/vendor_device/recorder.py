"""Recording: each operator of a capture becomes a node, and none of them runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves, tree_map_only

Node = Callable[[], object]

_CPU = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)

#: Operators whose result depends on values, which no capture has: ``item``, ``nonzero``, a boolean mask.
_NEEDS_VALUES = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}


class CaptureError(RuntimeError):
    """A call that a capture cannot record, or that is in the wrong state."""


class Recorder(TorchDispatchMode):
    """Turns the operators of one capture into nodes.

    Args:
        is_recording: whether the stream that is current belongs to the capture; otherwise operators run as usual.
    """

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Guarding the mode against the compiler would import the compiler, which takes seconds.
        return False

    def __init__(self, is_recording: Callable[[], bool]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # torch's own
        self.nodes: list[Node] = []
        self.error: CaptureError | None = None
        self._is_recording = is_recording

    def enter(self) -> None:
        """See every operator of the calling thread from here on."""
        self.__enter__()  # type: ignore[no-untyped-call]  # torch's own

    def leave(self) -> None:
        """See none any more."""
        self.__exit__(None, None, None)  # type: ignore[no-untyped-call]  # torch's own

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Record `func`, unless it only gives a view or its stream does not capture."""
        kwargs = kwargs or {}
        if not self._is_recording() or _is_view(func):
            return func(*args, **kwargs)
        if func.namespace != "aten":
            # The host code of a custom operator runs now, once; what it calls is recorded.
            with self:
                return func.redispatch(_CPU, *args, **kwargs)
        written = _written(func, args, kwargs)
        self._refuse_what_cannot_be_recorded(func, written)
        if written:
            _grow(func, args, kwargs)
            node_args, node_kwargs = _as_they_are((args, kwargs))
            self.nodes.append(lambda: func(*node_args, **node_kwargs))
            return _as_returned(func, list(written.values()))
        return self._functional(func, args, kwargs)

    def _functional(self, func: Any, args: Any, kwargs: Any) -> Any:
        # A trial on the inputs as they are gives the sizes and layouts; what it computed is thrown away.
        results = func(*args, **kwargs)
        outputs = _as_they_are(_tensors(results))
        for output in outputs:
            _poison(output)
        node_args, node_kwargs = _as_they_are((args, kwargs))

        def node() -> None:
            for output, value in zip(outputs, _tensors(func(*node_args, **node_kwargs)), strict=True):
                output.copy_(value)

        self.nodes.append(node)
        return results

    def replay(self) -> None:
        """Run the nodes, in the order in which they were recorded.

        They are device work: neither autograd nor a mode of the caller's sees them.
        """
        with _disable_current_modes(), torch.inference_mode():
            for node in self.nodes:
                node()

    def spoil(self, message: str) -> NoReturn:
        """Refuse a call that the capture cannot hold; the capture fails with it.

        Raises:
            CaptureError: always.
        """
        self.error = CaptureError(message)
        raise self.error

    def _refuse_what_cannot_be_recorded(self, func: Any, written: dict[str, Any]) -> None:
        if _NEEDS_VALUES & set(func.tags):
            self.spoil(f"{func} needs a value on the host, which is not permitted when a stream is capturing")
        if written and len(func._schema.returns) > len(written):
            self.spoil(f"{func} writes an argument and makes a new tensor as well, which this device cannot record")


def _as_they_are(tensors: Any) -> Any:
    """`tensors` as a node needs them: over the same memory, and with their present sizes whatever becomes of theirs."""
    return tree_map_only(torch.Tensor, torch.Tensor.detach, tensors)


def _grow(func: Any, args: Any, kwargs: Any) -> None:
    """Give each empty ``out=`` tensor the size that a trial on another one has."""
    outputs = {
        one.name: kwargs[one.name]
        for one in func._schema.arguments
        if one.is_out and isinstance(kwargs.get(one.name), torch.Tensor) and kwargs[one.name].numel() == 0
    }
    if not outputs:
        return
    trial = {name: torch.empty_like(output) for name, output in outputs.items()}
    func(*args, **(kwargs | trial))
    for name, output in outputs.items():
        output.resize_(trial[name].shape)


def _is_view(func: Any) -> bool:
    """Whether `func` only gives or changes a view, so that there is nothing for the device to do."""
    if torch.Tag.inplace_view in func.tags:
        return True
    aliases = [one.alias_info for one in func._schema.returns if one.alias_info is not None]
    return bool(aliases) and not any(alias.is_write for alias in aliases)


def _written(func: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """The arguments that `func` writes, by the names that its schema has for them."""
    parameters = func._schema.arguments
    values = {parameter.name: value for parameter, value in zip(parameters, args, strict=False)} | kwargs
    writes = [one.name for one in parameters if one.alias_info is not None and one.alias_info.is_write]
    return {name: values[name] for name in writes if values.get(name) is not None}


def _as_returned(func: Any, written: list[Any]) -> Any:
    count = len(func._schema.returns)
    if count == 0:
        return None
    return written[0] if count == 1 else tuple(written)


def _tensors(results: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(results) if isinstance(leaf, torch.Tensor)]


def _poison(output: torch.Tensor) -> None:
    output.fill_(float("nan") if output.is_floating_point() or output.is_complex() else 1)
