"""Other messages, exceptions, tokens, handles and results than the reference's."""

from __future__ import annotations

import itertools
import warnings
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from reference_impl import CUDAGraph
from reference_impl.accelerator import Graph
from reference_impl.devices.software import device as software_device
from reference_impl.errors import GraphError
from reference_impl.faults.fault import replaced, together
from reference_impl.graphs.core import GraphCore
from reference_impl.runtime.handles import HandleTable
from reference_impl.variants.variant import CUDA, EVERY_DIALECT, Variants

VARIANTS = Variants()


def _refusals(kind: type[RuntimeError], text: str) -> AbstractContextManager[Any]:
    def wrap(original: Any) -> Any:
        def refuse(self: GraphCore, call: str, remedy: str) -> RuntimeError:
            original(self, call, remedy)
            return kind(text.format(call=call, remedy=remedy))

        return refuse

    return replaced(GraphCore, "_refuse", wrap)


@VARIANTS.patch(*EVERY_DIALECT)
def other_messages() -> AbstractContextManager[Any]:
    """Refusals are worded otherwise, and name the call without its parentheses."""

    def wrap(original: Any) -> Any:
        def refuse(self: GraphCore, call: str, remedy: str) -> RuntimeError:
            original(self, call, remedy)
            return GraphError(f"Graph state violation in {call.rstrip('()')}. Hint: {remedy}.")

        return refuse

    return replaced(GraphCore, "_refuse", wrap)


class BackendError(RuntimeError):
    """A backend's own kind of error, with a code."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.code = 901


@VARIANTS.patch(*CUDA)
def own_exception_class() -> AbstractContextManager[Any]:
    """Refusals are of a subclass of RuntimeError that is the backend's own."""
    return _refusals(BackendError, "[backend 901] {call}: {remedy}")


@VARIANTS.patch(*CUDA)
def not_implemented_errors() -> AbstractContextManager[Any]:
    """Refusals are NotImplementedErrors, which are RuntimeErrors."""
    return _refusals(NotImplementedError, "{call} is not implemented in this state: {remedy}")


@VARIANTS.patch(*EVERY_DIALECT)
def runtime_errors_for_arguments() -> AbstractContextManager[Any]:
    """A wrong pool or error mode is a RuntimeError, as a check in C++ raises it."""
    from reference_impl.graphs import core

    def wrap(original: Any) -> Any:
        def checked(*arguments: Any) -> Any:
            try:
                return original(*arguments)
            except (TypeError, ValueError) as error:
                raise RuntimeError(f"check failed: {error}") from None

        return checked

    return together(replaced(core, "as_pool_id", wrap), replaced(GraphCore, "_capture_mode", wrap))


@VARIANTS.patch(*EVERY_DIALECT)
def other_tokens() -> AbstractContextManager[Any]:
    """Pool tokens are large numbers that go down."""
    numbers = itertools.count(1 << 61, -7919)
    return together(
        replaced(software_device, "new_pool_id", lambda _: lambda: (next(numbers), 0)),
        replaced(software_device, "graph_pool_handle", lambda _: lambda: (0, next(numbers))),
    )


class Token(NamedTuple):
    """A pool token whose parts have names."""

    graph: int
    user: int


@VARIANTS.patch(*CUDA)
def named_tokens() -> AbstractContextManager[Any]:
    """Pool tokens are named tuples of two integers."""
    numbers = itertools.count(1)
    return together(
        replaced(software_device, "new_pool_id", lambda _: lambda: Token(next(numbers), 0)),
        replaced(software_device, "graph_pool_handle", lambda _: lambda: Token(0, next(numbers))),
    )


@VARIANTS.patch("reference", "reference.xpu")
def handles_used_again() -> AbstractContextManager[Any]:
    """A handle whose object is gone names the next object of its kind, as addresses do."""
    from reference_impl.runtime.executables import executables
    from reference_impl.runtime.templates import templates

    free: dict[int, list[int]] = {}
    tables = (executables, templates)

    def reserve(original: Any) -> Any:
        def reserved(self: HandleTable[Any]) -> int:
            handles = free.get(id(self))
            return handles.pop() if handles else int(original(self))

        return reserved

    def remove(original: Any) -> Any:
        def removed(self: HandleTable[Any], handle: int) -> None:
            if any(self is table for table in tables) and self.find(handle) is not None:
                free.setdefault(id(self), []).append(handle)
            original(self, handle)

        return removed

    return together(replaced(HandleTable, "reserve", reserve), replaced(HandleTable, "remove", remove))


class Handle(int):
    """A handle that shows itself as an address."""

    def __repr__(self) -> str:
        return f"<handle {int(self):#x}>"


@VARIANTS.graph_class(*CUDA)
class HandlesAsASubclassOfInt(CUDAGraph):
    """Raw handles are integers of a class of their own."""

    def raw_cuda_graph(self) -> int:
        return Handle(super().raw_cuda_graph())

    def raw_cuda_graph_exec(self) -> int:
        return Handle(super().raw_cuda_graph_exec())


@VARIANTS.graph_class(*CUDA)
class GivesResults(CUDAGraph):
    """replay() and reset() give something where the reference gives None."""

    def replay(self) -> Any:
        super().replay()
        return self

    def reset(self) -> Any:
        super().reset()
        return True


@VARIANTS.graph_class(*CUDA)
class WarnsALot(CUDAGraph):
    """Every call warns of something, as an experimental backend does."""

    def capture_end(self) -> None:
        warnings.warn("graph capture is experimental on this backend", UserWarning, stacklevel=2)
        super().capture_end()

    def replay(self) -> None:
        warnings.warn("graph replay is experimental on this backend", FutureWarning, stacklevel=2)
        super().replay()

    def reset(self) -> None:
        warnings.warn("reset is experimental on this backend", DeprecationWarning, stacklevel=2)
        super().reset()


@VARIANTS.graph_class("reference.accelerator")
class AcceleratorFallsBackToItsOnlyMode(Graph):
    """A mode other than the default one gives a warning and captures in the default mode."""

    def capture_begin(self) -> None:
        mode = self.capture_error_mode
        if mode in self._modes and mode != "default":
            warnings.warn(f"capture_error_mode {mode!r} is not supported here, using the default", stacklevel=2)
            self.capture_error_mode = "default"
        try:
            super().capture_begin()
        finally:
            self.capture_error_mode = mode


@VARIANTS.graph_class("reference.accelerator")
class AcceleratorRefusesOtherModes(Graph):
    """A mode other than the default one is refused when the capture begins."""

    def capture_begin(self) -> None:
        if self.capture_error_mode != "default":
            raise ValueError(f"capture_error_mode {self.capture_error_mode!r} is not supported on this backend")
        super().capture_begin()


@VARIANTS.graph_class(*CUDA)
class GraphDataWithMore(CUDAGraph):
    """get_graph_data() says more than is documented."""

    def get_graph_data(self) -> dict[str, Any]:
        data = super().get_graph_data()
        data["backend"] = {"name": "variant", "version": 3}
        for node in data["nodes"]:
            node["grid_dim"], node["block_dim"] = (1, 1, 1), (128, 1, 1)
        return data
