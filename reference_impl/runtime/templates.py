"""Templates (`cudaGraph_t`): typed nodes in order of creation, and the edges between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeAlias

from reference_impl.runtime.bindings import cudaError_t, cudaGraphNodeType
from reference_impl.runtime.errors import Refusal
from reference_impl.runtime.handles import HandleTable
from reference_impl.runtime.kernels import KernelCall
from reference_impl.runtime.memory import Copy, Fill
from reference_impl.runtime.streams import Event
from reference_impl.runtime.user_objects import References

_graph_ids = count(1)


@dataclass(frozen=True, slots=True)
class Empty:
    """A node that only orders others."""


@dataclass(frozen=True, slots=True)
class HostCall:
    """A host node: the address of a C function, and the pointer it is called with."""

    function: int
    user_data: int


@dataclass(frozen=True, slots=True)
class EventRecord:
    """An event record node."""

    event: Event


@dataclass(frozen=True, slots=True)
class EventWait:
    """An event wait node."""

    event: Event


@dataclass(frozen=True, slots=True)
class Child:
    """A child graph node: owns a copy of the template it was made from."""

    template: Template


Payload: TypeAlias = Empty | KernelCall | HostCall | EventRecord | EventWait | Child | Fill | Copy

TYPES: dict[type, Any] = {
    Empty: cudaGraphNodeType.cudaGraphNodeTypeEmpty,
    KernelCall: cudaGraphNodeType.cudaGraphNodeTypeKernel,
    HostCall: cudaGraphNodeType.cudaGraphNodeTypeHost,
    EventRecord: cudaGraphNodeType.cudaGraphNodeTypeEventRecord,
    EventWait: cudaGraphNodeType.cudaGraphNodeTypeWaitEvent,
    Child: cudaGraphNodeType.cudaGraphNodeTypeGraph,
    Fill: cudaGraphNodeType.cudaGraphNodeTypeMemset,
    Copy: cudaGraphNodeType.cudaGraphNodeTypeMemcpy,
}


class Node:
    """A node (`cudaGraphNode_t`).  `original` is the handle of the node it was cloned from, or 0."""

    __slots__ = ("dependencies", "dependents", "handle", "local_id", "original", "payload", "template")

    def __init__(self, template: Template, payload: Payload, original: int = 0) -> None:
        self.handle = nodes.reserve()
        self.template = template
        self.payload = payload
        self.original = original
        self.local_id = template.next_local_id()
        # In the order in which the edges were made, as CUDA reports them.  Lists: most nodes have one of each.
        self.dependencies: list[Node] = []
        self.dependents: list[Node] = []

    @property
    def type(self) -> Any:
        """Its cudaGraphNodeType."""
        return TYPES[type(self.payload)]


class Template:
    """A graph under construction.

    `embedded`: it belongs to a child graph node.  `capturing`: a capture is recording into it.  Either way it cannot be
    destroyed by its handle.  `references`: the user objects that it keeps.
    """

    def __init__(self, *, embedded: bool = False) -> None:
        self.handle = templates.reserve()
        self.identity = next(_graph_ids)
        self.embedded = embedded
        self.capturing = False
        self.nodes: dict[int, Node] = {}
        self.references: References = Counter()
        self._local_ids = count()
        templates.add(self.handle, self)

    def next_local_id(self) -> int:
        return next(self._local_ids)

    def add(self, payload: Payload, dependencies: Sequence[Node] = (), original: int = 0) -> Node:
        """Append a node.  Refuses a foreign or repeated dependency with cudaErrorInvalidValue."""
        for each in dependencies:
            if each.template is not self:
                raise Refusal(cudaError_t.cudaErrorInvalidValue)
        if len(dependencies) > 1 and len(set(dependencies)) != len(dependencies):
            raise Refusal(cudaError_t.cudaErrorInvalidValue)
        node = Node(self, payload, original)
        self.nodes[node.handle] = node
        nodes.add(node.handle, node)
        for dependency in dependencies:
            _connect(dependency, node)
        return node

    def connect(self, edges: Iterable[tuple[Node, Node]]) -> None:
        """Add edges one after the other, up to the first that cannot be.

        A cycle is not looked for here: instantiation refuses it.
        """
        for start, end in edges:
            if start is end or not start.template is self is end.template or start in end.dependencies:
                raise Refusal(cudaError_t.cudaErrorInvalidValue)
            _connect(start, end)

    def disconnect(self, edges: Iterable[tuple[Node, Node]]) -> None:
        """Remove edges one after the other, up to the first that is not there."""
        for start, end in edges:
            if end.template is not self or start not in end.dependencies:
                raise Refusal(cudaError_t.cudaErrorInvalidValue)
            _disconnect(start, end)

    def remove(self, node: Node) -> None:
        """Destroy a node, its edges with it."""
        for start in list(node.dependencies):
            _disconnect(start, node)
        for end in list(node.dependents):
            _disconnect(node, end)
        del self.nodes[node.handle]
        _forget(node)

    def edges(self) -> list[tuple[Node, Node]]:
        """Grouped by where they start, in order of creation."""
        return [(node, end) for node in self.nodes.values() for end in node.dependents]

    def roots(self) -> list[Node]:
        return [node for node in self.nodes.values() if not node.dependencies]

    def children(self) -> list[Template]:
        """The templates inside its child graph nodes."""
        return [node.payload.template for node in self.nodes.values() if isinstance(node.payload, Child)]

    def clone(self, *, embedded: bool = False) -> Template:
        """An independent copy, child graphs included."""
        copy = Template(embedded=embedded)
        copy.references.update(self.references)
        twins: dict[Node, Node] = {}
        for node in self.nodes.values():
            payload = node.payload
            if isinstance(payload, Child):
                payload = Child(payload.template.clone(embedded=True))
            twins[node] = copy.add(payload, original=node.handle)
        for node, twin in twins.items():
            twin.dependencies = [twins[each] for each in node.dependencies]
            twin.dependents = [twins[each] for each in node.dependents]
        return copy

    def find_clone(self, node: Node) -> Node | None:
        """The node here that was cloned from `node`."""
        return next((each for each in self.nodes.values() if each.original == node.handle), None)

    def destroy(self) -> None:
        """Make the handles of the template and of all its nodes stale."""
        templates.remove(self.handle)
        for node in self.nodes.values():
            _forget(node)
            # Without the cycle, what the nodes hold goes now, and not when the garbage collector comes by.
            node.dependencies = []
            node.dependents = []
        self.nodes = {}
        self.references.clear()


def _connect(start: Node, end: Node) -> None:
    start.dependents.append(end)
    end.dependencies.append(start)


def _disconnect(start: Node, end: Node) -> None:
    start.dependents.remove(end)
    end.dependencies.remove(start)


def _forget(node: Node) -> None:
    nodes.remove(node.handle)
    if isinstance(node.payload, Child):
        node.payload.template.destroy()


def ancestors(start: Iterable[Node]) -> set[Node]:
    """The nodes of `start` and all that they depend on, directly or not."""
    closure: set[Node] = set()
    front = list(start)
    while front:
        node = front.pop()
        if node not in closure:
            closure.add(node)
            front.extend(node.dependencies)
    return closure


templates: HandleTable[Template] = HandleTable()
nodes: HandleTable[Node] = HandleTable()


def find_template(handle: Any) -> Template:
    """The template behind a handle.  Refuses a stale or foreign one with cudaErrorInvalidValue."""
    template = templates.find(handle)
    if template is None:
        raise Refusal(cudaError_t.cudaErrorInvalidValue)
    return template


def find_node(handle: Any) -> Node:
    """The node behind a handle.  Refuses a stale or foreign one with cudaErrorInvalidValue."""
    node = nodes.find(handle)
    if node is None:
        raise Refusal(cudaError_t.cudaErrorInvalidValue)
    return node


def require_default_edges(data: Sequence[Any] | None) -> None:
    """Refuse edge data other than the default, which is all that the model has."""
    if any(each.type or each.from_port or each.to_port for each in data or ()):
        raise Refusal(cudaError_t.cudaErrorNotSupported)


def find_nodes(handles: Iterable[Any] | None, number: int) -> list[Node]:
    """The first `number` nodes of a list of handles, as calls with a count and a list take it."""
    listed = list(handles or ())
    if number < 0 or number > len(listed):
        raise Refusal(cudaError_t.cudaErrorInvalidValue)
    return [find_node(handle) for handle in listed[:number]]
