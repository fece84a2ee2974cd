"""Further edits of a template, its clones, and changes of an executable."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from conformance.adapter import Adapter
from suites.support.captures import capture_between
from suites.support.handles import runtime_call, runtime_of
from suites.support.template import Template, memset_parameters


class Editor(Template):
    """A template with more that can be asked of it and done to it."""

    def __init__(self, impl: Adapter, graph: Any, handle: Any = None) -> None:
        if handle is None:
            super().__init__(impl, graph)
        else:
            self._impl = impl
            self.handle = handle
        #: Kept, because the template dies with it.
        self._graph = graph
        #: C functions that nodes call, which Python would otherwise let go.
        self._functions: list[Any] = []

    # -- questions --------------------------------------------------------------------------------------------------

    def type_of(self, node: Any) -> Any:
        """A node's cudaGraphNodeType."""
        return self._call("cudaGraphNodeGetType", node)[0]

    def counted(self, name: str, subject: Any) -> set[int]:
        """The nodes that a function gives when it is told how many there are."""
        count = int(self._call(name, subject)[-1])
        nodes = self._call(name, subject, count)[0][:count] if count else []
        return {int(node) for node in nodes}

    def chain(self) -> list[Any]:
        """The nodes of a template that puts all of them in a row, in that order."""
        pairs = self.ordered_pairs()
        return sorted(self.nodes(), key=lambda node: sum(later == int(node) for _, later in pairs))

    def memset_of(self, node: Any) -> Any:
        """The parameters of a memset node."""
        return self._call("cudaGraphMemsetNodeGetParams", node)[0]

    # -- edits ------------------------------------------------------------------------------------------------------

    def add_empty(self, after: Sequence[Any] = ()) -> Any:
        """Add a node that does nothing but order others."""
        return self._call("cudaGraphAddEmptyNode", self.handle, list(after), len(after))[0]

    def add_host(self, call: Callable[[], Any], after: Sequence[Any] = ()) -> Any:
        """Add a node that calls a Python function on the host."""
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: call())
        self._functions.append(function)
        parameters = self._impl.runtime.cudaHostNodeParams()
        address = ctypes.cast(function, ctypes.c_void_p).value
        parameters.fn = self._impl.runtime.cudaHostFn_t(init_value=address)
        parameters.userData = 0
        return self._call("cudaGraphAddHostNode", self.handle, list(after), len(after), parameters)[0]

    def add_child(self, other: Template, after: Sequence[Any] = ()) -> Any:
        """Add a copy of another template as one node."""
        return self._call("cudaGraphAddChildGraphNode", self.handle, list(after), len(after), other.handle)[0]

    def add_memset_of_columns(self, matrix: torch.Tensor, first: int, count: int, value: int) -> Any:
        """Add a node that sets `count` columns of a contiguous matrix of bytes, from column `first` on."""
        parameters = self._impl.runtime.cudaMemsetParams()
        parameters.dst = matrix.data_ptr() + first
        parameters.elementSize = 1
        parameters.value = value
        parameters.width = count
        parameters.height = matrix.shape[0]
        parameters.pitch = matrix.shape[1]
        return self._call("cudaGraphAddMemsetNode", self.handle, [], 0, parameters)[0]

    def change_memcpy(self, node: Any, destination: torch.Tensor, source: torch.Tensor) -> None:
        """Make a memcpy node copy the bytes of `source` to `destination` from now on."""
        self._call("cudaGraphMemcpyNodeSetParams1D", node, *self._copy(destination, source))

    def _copy(self, destination: torch.Tensor, source: torch.Tensor) -> tuple[Any, ...]:
        kind = self._impl.runtime.cudaMemcpyKind.cudaMemcpyDeviceToDevice
        return destination.data_ptr(), source.data_ptr(), source.numel() * source.element_size(), kind

    # -- clones -----------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def clone(self) -> Iterator[Editor]:
        """An independent copy, destroyed after the block."""
        handle = self._call("cudaGraphClone", self.handle)[0]
        try:
            yield Editor(self._impl, None, handle)
        finally:
            self._impl.synchronize()
            self._call("cudaGraphDestroy", handle)

    def in_clone(self, node: Any, clone: Editor) -> Any:
        """The node of a clone that was copied from `node`."""
        return self._call("cudaGraphNodeFindInClone", node, clone.handle)[0]

    @contextlib.contextmanager
    def executable(self) -> Iterator[int]:
        """The handle of an executable of the user's own, destroyed after the block."""
        handle = self._call("cudaGraphInstantiate", self.handle, 0)[0]
        try:
            yield int(handle)
        finally:
            self._impl.synchronize()
            self._call("cudaGraphExecDestroy", handle)

    # -- the graph's executable -------------------------------------------------------------------------------------

    def set_memset_in(self, executable: Any, node: Any, destination: torch.Tensor, value: float) -> None:
        """Give a memset other parameters in an executable alone."""
        parameters = memset_parameters(self._impl, destination, value)
        self._call("cudaGraphExecMemsetNodeSetParams", executable, node, parameters)

    def set_memcpy_in(self, executable: Any, node: Any, destination: torch.Tensor, source: torch.Tensor) -> None:
        """Give a memcpy other parameters in an executable alone."""
        self._call("cudaGraphExecMemcpyNodeSetParams1D", executable, node, *self._copy(destination, source))

    def enable_in(self, executable: Any, node: Any, *, enabled: bool) -> None:
        """Let a node of an executable take part in launches, or not."""
        self._call("cudaGraphNodeSetEnabled", executable, node, int(enabled))


def update(impl: Adapter, executable: Any, template: Template) -> None:
    """Update an executable from a template of the same shape."""
    runtime_call(impl, "cudaGraphExecUpdate", executable, template.handle)


def refused_update(impl: Adapter, executable: Any, template: Template) -> bool:
    """Whether the runtime refuses to update an executable from a template."""
    error = runtime_of(impl).cudaGraphExecUpdate(executable, template.handle)[0]
    runtime_of(impl).cudaGetLastError()  # a runtime that remembers it would blame the next launch
    return int(error) != 0


def kept(impl: Adapter, body: Callable[[], Any]) -> tuple[Any, Editor]:
    """A graph with keep_graph=True holding the work of `body`, and its template."""
    graph = impl.new_graph(keep_graph=True)
    capture_between(impl, graph, body)
    return graph, Editor(impl, graph)
