"""Steps on templates: their nodes, their edges, and what they answer about themselves."""

from __future__ import annotations

from typing import Any

from tests.gpu.recorder import COPY, native

from .player import POST, SUCCESS, TYPES, Graph, Player
from .step import step


@step
def create(p: Player, flags: int) -> None:
    p.made(p.call("cudaGraphCreate", flags))


@step
def clone(p: Player, graph: int) -> None:
    source = p.owned(graph) if graph < 4 else Graph(None, intact=False)
    p.made(p.call("cudaGraphClone", p.graph(graph)), source)


@step
def destroy(p: Player, graph: int) -> None:
    owner = p.owned(graph) if graph < 4 else None
    if p.call("cudaGraphDestroy", p.graph(graph))[0] == SUCCESS and owner is not None:
        owner.intact = False
        p.graphs.remove(owner)


# -- nodes -------------------------------------------------------------------------------------------------------------


def _add(p: Player, name: str, graph: int, waits: tuple[int, ...], *params: Any) -> None:
    target = p.graph(graph)
    nodes = [p.node(target, each) for each in waits] if p.nodes(target) else []
    p.call(f"cudaGraphAdd{name}", target, nodes or None, len(nodes), *params, graph=target)


def _fill(p: Player, shape: int, value: int) -> Any:
    """Parameters of a memset: one row of bytes, of words, two rows, and such that no node can have."""
    size, width, height, pitch = [(1, 16, 1, 0), (4, 4, 1, 0), (1, 8, 2, 32), (3, 4, 1, 0), (1, 0, 1, 0)][shape]
    params = native.cudaMemsetParams()
    params.dst, params.value, params.elementSize = p.slot(), value, size
    params.width, params.height, params.pitch = width, height, pitch
    return params


def _line(p: Player, size: int) -> tuple[Any, ...]:
    return p.slot(), p.pattern(size), size, COPY


def _box(p: Player, size: int) -> Any:
    """Parameters of a memcpy of two rows; nothing at all for size 0."""
    params = native.cudaMemcpy3DParms()
    if size:
        params.dstPtr = native.make_cudaPitchedPtr(p.slot(), 16, 16, 2)
        params.srcPtr = native.make_cudaPitchedPtr(p.pattern(size), 16, 16, 2)
        params.extent = native.make_cudaExtent(size, 2, 1)
        params.kind = COPY
    return params


def _host(p: Player, *, function: bool) -> Any:
    params = native.cudaHostNodeParams()
    params.fn = native.cudaHostFn_t(init_value=POST if function else 0)
    params.userData = p.called.address
    return params


def _kernel(p: Player, graph: int, node: int) -> Any:
    """The parameters of a kernel node, as it reports them."""
    results = p.call("cudaGraphKernelNodeGetParams", p.node(p.graph(graph), node, TYPES.cudaGraphNodeTypeKernel))
    return results[1] if results is not None and results[0] == SUCCESS else None


@step
def add_empty(p: Player, graph: int, waits: tuple[int, ...]) -> None:
    _add(p, "EmptyNode", graph, waits)


@step
def add_fill(p: Player, graph: int, waits: tuple[int, ...], shape: int, value: int) -> None:
    _add(p, "MemsetNode", graph, waits, _fill(p, shape, value))


@step
def add_copy(p: Player, graph: int, waits: tuple[int, ...], size: int) -> None:
    _add(p, "MemcpyNode1D", graph, waits, *_line(p, size))


@step
def add_box(p: Player, graph: int, waits: tuple[int, ...], size: int) -> None:
    _add(p, "MemcpyNode", graph, waits, _box(p, size))


@step
def add_host(p: Player, graph: int, waits: tuple[int, ...], function: bool) -> None:
    _add(p, "HostNode", graph, waits, _host(p, function=function))


@step
def add_child(p: Player, graph: int, waits: tuple[int, ...], inner: int) -> None:
    _add(p, "ChildGraphNode", graph, waits, p.graph(inner))


@step
def add_event(p: Player, graph: int, waits: tuple[int, ...], event: int, record: bool) -> None:
    _add(p, f"Event{'Record' if record else 'Wait'}Node", graph, waits, p.event(event, spare=False))


@step
def add_kernel(p: Player, graph: int, waits: tuple[int, ...], like: int, node: int) -> None:
    """Like the kernel node of a template."""
    params = _kernel(p, like, node)
    if params is None:
        params = native.cudaKernelNodeParams()
        for size in (params.gridDim, params.blockDim):
            size.x = size.y = size.z = 1
    _add(p, "KernelNode", graph, waits, params)


@step
def read_node(p: Player, graph: int, node: int, kind: str) -> None:
    found, kind = _typed(p, p.graph(graph), node, kind)
    p.call(_READERS[kind], found)


_TYPES = {
    "memset": TYPES.cudaGraphNodeTypeMemset,
    "memcpy": TYPES.cudaGraphNodeTypeMemcpy,
    "host": TYPES.cudaGraphNodeTypeHost,
    "kernel": TYPES.cudaGraphNodeTypeKernel,
    "child": TYPES.cudaGraphNodeTypeGraph,
    "record": TYPES.cudaGraphNodeTypeEventRecord,
    "wait": TYPES.cudaGraphNodeTypeWaitEvent,
}
KINDS = ("own", *_TYPES)
_READERS = {
    "memset": "cudaGraphMemsetNodeGetParams",
    "memcpy": "cudaGraphMemcpyNodeGetParams",
    "host": "cudaGraphHostNodeGetParams",
    "kernel": "cudaGraphKernelNodeGetParams",
    "child": "cudaGraphChildGraphNodeGetGraph",
    "record": "cudaGraphEventRecordNodeGetEvent",
    "wait": "cudaGraphEventWaitNodeGetEvent",
}


def _typed(p: Player, graph: Any, number: int, kind: str) -> tuple[Any, str]:
    """A node, and the kind of parameters to use: those of its own type, or of a type that some other node may have."""
    if kind != "own":
        return p.node(graph, number, _TYPES[kind]), kind
    found = p.node(graph, number)
    code, own = p.runtime.cudaGraphNodeGetType(found) if int(found) else (None, None)
    names = [name for name, each in _TYPES.items() if code == SUCCESS and each == own]
    return found, names[0] if names else "memset"


def _set(p: Player, kind: str, shape: int, value: int, size: int) -> tuple[str, tuple[Any, ...]]:
    """The end of the name of the call that changes such a node, and its arguments."""
    if kind == "memset":
        return "MemsetNodeSetParams", (_fill(p, shape, value),)
    if kind == "memcpy":
        return ("MemcpyNodeSetParams1D", _line(p, size)) if shape % 2 else ("MemcpyNodeSetParams", (_box(p, size),))
    if kind == "host":
        return "HostNodeSetParams", (_host(p, function=bool(size)),)
    if kind == "record":
        return "EventRecordNodeSetEvent", (p.event(value % 4 - 1, spare=False),)
    return "EventWaitNodeSetEvent", (p.event(value % 4 - 1, spare=False),)


@step
def set_node(p: Player, graph: int, node: int, kind: str, shape: int, value: int, size: int) -> None:
    found, kind = _typed(p, p.graph(graph), node, kind)
    if kind == "kernel":
        params = _kernel(p, graph, value)
        if params is not None:
            p.call("cudaGraphKernelNodeSetParams", found, params)
    elif kind != "child":
        name, params = _set(p, kind, shape, value, size)
        p.call(f"cudaGraph{name}", found, *params)


@step
def set_in_executable(
    p: Player, executable: int, node: int, kind: str, shape: int, value: int, size: int, graph: int
) -> None:
    """In an executable, by a node of the template that it was made from, or of another one."""
    owner = p.executable(executable)
    found, kind = _typed(p, source_of(p, executable, graph), node, kind)
    handle = p.launchable(executable)
    if kind == "kernel":
        params = None if owner is None else _kernel(p, graph, value)
        if params is not None:
            p.call("cudaGraphExecKernelNodeSetParams", handle, found, params)
    elif kind == "child":
        p.call("cudaGraphExecChildGraphNodeSetParams", handle, found, p.graph(graph))
    else:
        name, params = _set(p, kind, shape, value, size)
        p.call(f"cudaGraphExec{name}", handle, found, *params)


def source_of(p: Player, executable: int, graph: int) -> Any:
    """The template of an executable, or for some `graph` another; None where its nodes' addresses mean nothing now."""
    owner = p.executable(executable)
    if owner is None or not owner.source.intact:
        return None
    other = p.owned(graph)
    if graph == 3 and other is not None and other.intact:
        return other.handle
    return owner.source.handle


@step
def destroy_node(p: Player, graph: int, node: int) -> None:
    target, owner = p.graph(graph), p.owned(graph - 8 if graph >= 8 else graph)
    if p.call("cudaGraphDestroyNode", p.node(target, node))[0] == SUCCESS and owner is not None:
        owner.intact = False


# -- edges -------------------------------------------------------------------------------------------------------------


@step
def connect(p: Player, graph: int, edges: tuple[tuple[int, int], ...]) -> None:
    target = p.graph(graph)
    starts, ends = ([p.node(target, pair[side]) for pair in edges] for side in (0, 1))
    p.call("cudaGraphAddDependencies", target, starts, ends, None, len(edges))


@step
def connect_across(p: Player, graph: int, other: int) -> None:
    """An edge between nodes of two templates."""
    target = p.graph(graph)
    p.call("cudaGraphAddDependencies", target, [p.node(target, 0)], [p.node(p.graph(other), 0)], None, 1)


@step
def disconnect(p: Player, graph: int, edges: tuple[int, ...]) -> None:
    """Edges that are there, by their number, or the one back from the last node to the first."""
    target = p.graph(graph)
    number = p.runtime.cudaGraphGetEdges(target)[4] if int(target) else 0
    starts, ends = p.runtime.cudaGraphGetEdges(target, number)[1:3] if number else ([], [])
    pairs = [(starts[each % number], ends[each % number]) for each in edges] if number else []
    pairs = pairs or [(p.node(target, 9), p.node(target, 0))]
    p.call("cudaGraphRemoveDependencies", target, [a for a, _ in pairs], [b for _, b in pairs], None, len(pairs))


# -- questions ---------------------------------------------------------------------------------------------------------


@step
def inspect(p: Player, graph: int, number: int) -> None:
    """Nodes, roots and edges: all of them, or as many as there is room for."""
    target = p.graph(graph)
    for name in ("Nodes", "RootNodes", "Edges"):
        p.call(f"cudaGraphGet{name}", target, number, graph=target)


@step
def inspect_node(p: Player, graph: int, node: int, number: int) -> None:
    target = p.graph(graph)
    found = p.node(target, node)
    p.call("cudaGraphNodeGetType", found)
    for name in ("Dependencies", "DependentNodes"):
        p.call(f"cudaGraphNodeGet{name}", found, number, graph=target)


@step
def identify(p: Player, graph: int, node: int) -> None:
    target = p.graph(graph)
    found = p.node(target, node)
    p.call("cudaGraphGetId", target)
    for name in ("LocalId", "ToolsId", "ContainingGraph"):
        p.call(f"cudaGraphNodeGet{name}", found)


@step
def find_in_clone(p: Player, graph: int, node: int) -> None:
    """Of the latest clone, or in a template that is none."""
    copies = [each for each in p.graphs if each.source is not None and each.source.intact and each.intact]
    owner = p.owned(graph)
    if copies and graph < 3:
        copy, source = copies[-1], copies[-1].source
        assert source is not None
        p.call("cudaGraphNodeFindInClone", p.node(source.handle, node), copy.handle, graph=copy.handle)
    elif owner is not None and owner.source is None:
        p.call("cudaGraphNodeFindInClone", p.node(owner.handle, node), owner.handle)


@step
def print_dot(p: Player, graph: int, writable: bool) -> None:
    path = b"/dev/null" if writable else b"/nonexistent/folder/graph.dot"
    p.call("cudaGraphDebugDotPrint", p.graph(graph), path, 0)
