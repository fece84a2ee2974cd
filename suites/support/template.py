"""A template seen and edited through the runtime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from conformance.adapter import Adapter
from suites.support.handles import runtime_call, runtime_of


def pattern_of(value: float, dtype: torch.dtype) -> int:
    """The bits of `value` in `dtype` as an unsigned integer: what a memset node must repeat."""
    return int.from_bytes(bytes(torch.tensor([value], dtype=dtype).view(torch.uint8).tolist()), "little")


def nodes_of(impl: Adapter, handle: Any) -> list[Any]:
    """All nodes of the template behind a handle, in no particular order."""
    count = int(runtime_call(impl, "cudaGraphGetNodes", handle)[-1])
    return list(runtime_call(impl, "cudaGraphGetNodes", handle, count)[0])[:count] if count else []


def edges_of(impl: Adapter, handle: Any) -> list[tuple[int, int]]:
    """All its dependencies, as (earlier node, later node)."""
    count = int(runtime_call(impl, "cudaGraphGetEdges", handle)[-1])
    if not count:
        return []
    earlier, later, *_ = runtime_call(impl, "cudaGraphGetEdges", handle, count)
    return [(int(first), int(second)) for first, second in zip(earlier, later, strict=True)]


def memset_parameters(impl: Adapter, destination: torch.Tensor, value: float) -> Any:
    """What sets every element of a contiguous tensor to `value`."""
    parameters = runtime_of(impl).cudaMemsetParams()
    parameters.dst = destination.data_ptr()
    parameters.elementSize = destination.element_size()
    parameters.value = pattern_of(value, destination.dtype)
    parameters.width = destination.numel()
    parameters.height = 1
    parameters.pitch = 0
    return parameters


class Template:
    """The template of a graph with keep_graph=True, reached through its raw handle and the runtime."""

    def __init__(self, impl: Adapter, graph: Any) -> None:
        self._impl = impl
        self.handle = runtime_of(impl).cudaGraph_t(init_value=impl.raw_graph(graph))

    def _call(self, name: str, *arguments: Any) -> list[Any]:
        return runtime_call(self._impl, name, *arguments)

    # -- what is in it ----------------------------------------------------------------------------------------------

    def nodes(self) -> list[Any]:
        """All nodes, in no particular order."""
        return nodes_of(self._impl, self.handle)

    def edges(self) -> list[tuple[int, int]]:
        """All dependencies, as (earlier node, later node)."""
        return edges_of(self._impl, self.handle)

    def roots(self) -> list[Any]:
        """The nodes that depend on nothing."""
        later = {second for _, second in self.edges()}
        return [node for node in self.nodes() if int(node) not in later]

    def leaves(self) -> list[Any]:
        """The nodes that nothing depends on."""
        earlier = {first for first, _ in self.edges()}
        return [node for node in self.nodes() if int(node) not in earlier]

    def ordered_pairs(self) -> set[tuple[int, int]]:
        """All pairs of nodes (earlier, later) that the edges put in order, directly or through others."""
        direct: dict[int, set[int]] = {int(node): set() for node in self.nodes()}
        for first, second in self.edges():
            direct[first].add(second)
        pairs: set[tuple[int, int]] = set()
        for start, following in direct.items():
            waiting = list(following)
            while waiting:
                node = waiting.pop()
                if (start, node) not in pairs:
                    pairs.add((start, node))
                    waiting.extend(direct[node])
        return pairs

    # -- edits ------------------------------------------------------------------------------------------------------

    def add_memset(self, destination: torch.Tensor, value: float, after: Sequence[Any] = ()) -> Any:
        """Add a node that sets every element of a contiguous tensor to `value`; return it."""
        parameters = memset_parameters(self._impl, destination, value)
        return self._call("cudaGraphAddMemsetNode", self.handle, list(after), len(after), parameters)[0]

    def change_memset(self, node: Any, destination: torch.Tensor, value: float) -> None:
        """Make a memset node write `value` to `destination` from now on."""
        self._call("cudaGraphMemsetNodeSetParams", node, memset_parameters(self._impl, destination, value))

    def add_memcpy(self, destination: torch.Tensor, source: torch.Tensor, after: Sequence[Any] = ()) -> Any:
        """Add a node that copies the bytes of one contiguous tensor to another; return it."""
        size = source.numel() * source.element_size()
        kind = self._impl.runtime.cudaMemcpyKind.cudaMemcpyDeviceToDevice
        target, origin = destination.data_ptr(), source.data_ptr()
        arguments = (self.handle, list(after), len(after), target, origin, size, kind)
        return self._call("cudaGraphAddMemcpyNode1D", *arguments)[0]

    def remove(self, node: Any) -> None:
        """Remove a node together with its edges."""
        self._call("cudaGraphDestroyNode", node)

    def remove_all(self) -> None:
        """Remove every node."""
        for node in self.nodes():
            self.remove(node)

    def link(self, earlier: Any, later: Any) -> None:
        """Make `later` depend on `earlier`."""
        self._change_edge("cudaGraphAddDependencies", earlier, later)

    def unlink(self, earlier: Any, later: Any) -> None:
        """Remove a dependency of `later` on `earlier`."""
        self._change_edge("cudaGraphRemoveDependencies", earlier, later)

    def _change_edge(self, name: str, earlier: Any, later: Any) -> None:
        try:
            self._call(name, self.handle, [earlier], [later], None, 1)
        except TypeError:  # runtimes before CUDA 13 have no edge data here
            self._call(name, self.handle, [earlier], [later], 1)
