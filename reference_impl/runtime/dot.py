"""Templates as text in the dot language, as `cudaGraphDebugDotPrint` writes them."""

from __future__ import annotations

from reference_impl.runtime.bindings import cudaGraphDebugDotFlags
from reference_impl.runtime.kernels import KernelCall
from reference_impl.runtime.memory import Copy, Fill
from reference_impl.runtime.templates import Child, EventRecord, EventWait, HostCall, Node, Template

VERBOSE = int(cudaGraphDebugDotFlags.cudaGraphDebugDotFlagsVerbose)
HANDLES = int(cudaGraphDebugDotFlags.cudaGraphDebugDotFlagsHandles)

# Which flag asks for the parameters of which kind of node.
_PARAMETERS: dict[type, int] = {
    KernelCall: int(cudaGraphDebugDotFlags.cudaGraphDebugDotFlagsKernelNodeParams),
    Copy: int(cudaGraphDebugDotFlags.cudaGraphDebugDotFlagsMemcpyNodeParams),
    Fill: int(cudaGraphDebugDotFlags.cudaGraphDebugDotFlagsMemsetNodeParams),
    HostCall: int(cudaGraphDebugDotFlags.cudaGraphDebugDotFlagsHostNodeParams),
    EventRecord: int(cudaGraphDebugDotFlags.cudaGraphDebugDotFlagsEventNodeParams),
    EventWait: int(cudaGraphDebugDotFlags.cudaGraphDebugDotFlagsEventNodeParams),
}

_SHAPES: dict[type, str] = {Fill: "invtrapezium", Copy: "trapezium", KernelCall: "octagon"}


def render(template: Template, flags: int = 0) -> str:
    """The template and its child graphs, one cluster each, nodes numbered in order of creation."""
    clusters = []
    waiting = [template]
    while waiting:
        graph = waiting.pop(0)
        clusters.append(_cluster(graph, flags))
        waiting += graph.children()
    return "digraph dot {\n" + "".join(clusters) + "}\n"


def _cluster(graph: Template, flags: int) -> str:
    name = f"graph_{graph.identity}"
    names = {node: f"{name}_node_{node.local_id}" for node in graph.nodes.values()}
    lines = [f"subgraph cluster_{graph.identity} {{", f'label="{name}" graph[style="dashed"];']
    for node, label in names.items():
        shape = _SHAPES.get(type(node.payload), "rectangle")
        lines.append(f'"{label}"[style="solid" shape="{shape}" label="{_label(node, flags)}"];\n')
    lines += [f'"{names[start]}" -> "{names[end]}";' for start, end in graph.edges()]
    return "\n".join(lines) + "\n}\n"


def _label(node: Node, flags: int) -> str:
    lines = [str(node.local_id), _title(node)]
    if flags & (VERBOSE | HANDLES):
        lines.append(f"node handle: 0x{node.handle:016X}")
    if flags & (VERBOSE | _PARAMETERS.get(type(node.payload), 0)):
        lines += _parameters(node)
    return "\n".join(lines) + "\n"


def _title(node: Node) -> str:
    payload = node.payload
    if isinstance(payload, KernelCall):
        return _escape(payload.kernel.name)
    if isinstance(payload, Child):
        return f"graph_{payload.template.identity}"
    if isinstance(payload, Fill):
        return f"MEMSET\n({payload.value},{payload.area.width})"
    if isinstance(payload, Copy):
        return f"MEMCPY\n({payload.source.width})"
    if isinstance(payload, HostCall):
        return "HOST"
    if isinstance(payload, EventRecord):
        return "EVENT_RECORD"
    return "EVENT_WAIT" if isinstance(payload, EventWait) else "EMPTY"


def _parameters(node: Node) -> list[str]:
    payload = node.payload
    if isinstance(payload, KernelCall):
        return [f"func handle: 0x{payload.handle:016X}"]
    if isinstance(payload, Fill):
        area = payload.area
        return [
            f"dptr: 0x{area.address:016X}",
            f"pitch: {area.pitch}",
            f"elementSize: {payload.element_size}",
            f"height: {area.height}",
        ]
    if isinstance(payload, Copy):
        return [f"src: 0x{payload.source.address:016X}", f"dst: 0x{payload.destination.address:016X}"]
    if isinstance(payload, HostCall):
        return [f"fn: 0x{payload.function:016X}", f"userData: 0x{payload.user_data:016X}"]
    if isinstance(payload, EventRecord | EventWait):
        return [f"event handle: 0x{payload.event.handle:016X}"]
    return []


def _escape(text: str) -> str:
    """Text for a quoted label, in which dot gives these characters a meaning."""
    return "".join("\\" + each if each in '"\\<>{}|' else each for each in text)
