"""What a failing test captured and called, as inline SVG.

A drawing is made of text alone: no script, no style of its own, no identifiers that two drawings on a page could share.
Its colours are those of the page; `STYLE` is the part of a stylesheet that it needs.  What is hostile in a record is
shown as text, and a graph that cannot be one is drawn all the same.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from conformance.records.causes import number as counted
from conformance.records.graphs import EDGES, NODES
from conformance.text import visible_line
from reports.site.lanes import Point, points_of
from reports.site.layers import Edge, Layers, layered

#: Sizes in units of the drawing, which are pixels on a screen of 360.
_WIDTH = 360
_COLUMNS = 3
_BOX, _HEIGHT = 96, 36
_GAP, _STEP = 18, 64
_LANE, _ROW = 112, 40
_LEFT = 18
_HEAD = 34
#: Characters that fit into a box, and into a line.
_FITS, _LINE = 14, 64
_COLOURS = 6

_SOURCES = {
    "runtime": "as the runtime says of the handle from the class",
    "graph data": "as the class says in its graph data",
}
STYLE = """\
.drawing{display:block;width:100%;max-width:45rem;height:auto;font:11px system-ui,sans-serif;color:inherit}
.drawing text{fill:currentColor}
.drawing .small{font-size:9.5px}
.drawing .box{fill:var(--drawing-box,#fff);stroke:currentColor;stroke-width:1}
.drawing .edge{fill:none;stroke:currentColor;stroke-width:1;opacity:.75}
.drawing .head{fill:currentColor;opacity:.75}
.drawing .closing{stroke-dasharray:4 3}
.drawing .lane{stroke:currentColor;stroke-width:1;stroke-dasharray:1 4;opacity:.6}
.drawing .capture{fill:currentColor;opacity:.08}
.drawing .stream-0{fill:#0b6bcb}
.drawing .stream-1{fill:#b3541e}
.drawing .stream-2{fill:#1a7f4b}
.drawing .stream-3{fill:#8a3ffc}
.drawing .stream-4{fill:#a2191f}
.drawing .stream-5{fill:#6f6f6f}
@media (prefers-color-scheme:dark){.drawing .box{fill:var(--drawing-box,#161616)}}
@media print{.drawing .box{fill:#fff}}
"""


# -- captured graphs --------------------------------------------------------------------------------------------------


def draw_graph(graph: Mapping[str, Any]) -> str:
    """A captured graph of a result (`conformance.records.graphs.CapturedGraph`), as ``<svg>``."""
    nodes = list(graph.get("nodes", ()))[:NODES]
    listed = list(graph.get("edges", ()))[:EDGES]
    edges = _sound(listed, len(nodes))
    layout = layered(len(nodes), edges, _COLUMNS)
    streams = _Streams()
    parts = [
        _text(0, 11, _heading(graph)),
        _text(0, 25, _SOURCES.get(str(graph["source"]), f"as {graph['source']} says"), "small"),
    ]
    parts += [_edge(edge, layout) for edge in edges]
    for number, node in enumerate(nodes):
        parts += _node(number, node, layout, streams)
    notes = _notes(graph, nodes, listed, edges, layout)
    bottom = _HEAD + len(layout.rows) * _STEP + 10
    parts += [_text(0, bottom + 12 * place, note, "small") for place, note in enumerate(notes)]
    described = [_sentence(number, node, edges) for number, node in enumerate(nodes)] + notes
    return _svg(_WIDTH, bottom + 12 * len(notes), f"Graph {_heading(graph)}", described, parts)


def _sound(edges: Iterable[Sequence[int]], count: int) -> list[Edge]:
    """The edges between nodes that are there, each once; the lines of a record may have any."""
    pairs = ((edge[0], edge[1]) for edge in edges if len(edge) == 2)
    return list(dict.fromkeys((a, b) for a, b in pairs if a != b and 0 <= a < count and 0 <= b < count))


def _heading(graph: Mapping[str, Any]) -> str:
    pool = f"pool {graph['pool']}" if graph.get("pool") else ""
    return " · ".join(filter(None, (str(graph["name"]), str(graph.get("state") or ""), pool)))


def _notes(
    graph: Mapping[str, Any], nodes: Sequence[Any], listed: Sequence[Any], edges: Sequence[Edge], layout: Layers
) -> list[str]:
    """What the drawing does not show, or shows in a way of its own."""
    hidden_nodes = len(graph.get("nodes", ())) - len(nodes) + int(graph.get("more_nodes", 0))
    hidden_edges = len(graph.get("edges", ())) - len(listed) + int(graph.get("more_edges", 0))
    odd = len(listed) - len(edges)
    return [
        note
        for note in (
            "" if nodes else "It has no nodes.",
            f"Not drawn: {counted(hidden_nodes, 'node')} and {counted(hidden_edges, 'edge')} more."
            if hidden_nodes or hidden_edges
            else "",
            f"Not drawn: {counted(odd, 'edge')} given twice, to the node itself or to none." if odd else "",
            f"Dashed: {counted(len(layout.closing), 'edge')} that would close a circle." if layout.closing else "",
        )
        if note
    ]


def _node(number: int, node: Mapping[str, Any], layout: Layers, streams: _Streams) -> list[str]:
    x, y = _corner(number, layout)
    kind, stream = str(node["kind"]), node.get("stream")
    label = str(node.get("label") or "") or kind
    below = " · ".join(filter(None, (f"{number}", kind if label != kind else "", str(stream or ""))))
    said = f"{number}: {kind}" + (f" {label}" if label != kind else "")
    parts = [f"<g><title>{_shown(said)}</title>"]
    parts.append(f'<rect class="box" x="{x}" y="{y}" width="{_BOX}" height="{_HEIGHT}" rx="4"/>')
    if stream is not None:
        parts.append(f'<rect class="{streams.colour(str(stream))}" x="{x}" y="{y}" width="5" height="{_HEIGHT}"/>')
    parts += [_text(x + 9, y + 15, _cut(_brief(label), _FITS)), _text(x + 9, y + 29, _cut(below, _FITS + 2), "small")]
    return [*parts, "</g>"]


def _corner(number: int, layout: Layers) -> tuple[int, int]:
    row, place = layout.places[number]
    used = len(layout.rows[row])
    left = (_WIDTH - used * _BOX - (used - 1) * _GAP) // 2
    return left + place * (_BOX + _GAP), _HEAD + row * _STEP


def _edge(edge: Edge, layout: Layers) -> str:
    """An arrow; one that passes rows goes between their boxes, or beside them."""
    (x1, y1), (x2, y2) = (_corner(node, layout) for node in edge)
    x1, x2, y1 = x1 + _BOX // 2, x2 + _BOX // 2, y1 + _HEIGHT
    css = "edge closing" if edge in layout.closing else "edge"
    rows = layout.places[edge[1]][0] - layout.places[edge[0]][0]
    if rows == 1:
        bend = (y2 - y1) // 2
        path = f"M{x1} {y1}C{x1} {y1 + bend} {x2} {y2 - bend} {x2} {y2}"
    else:
        side = 1 if x1 + x2 >= _WIDTH else -1
        away = max(abs(x1 - _WIDTH // 2), abs(x2 - _WIDTH // 2)) + _BOX // 2 + 3 + 3 * (sum(edge) % 4)
        x = _WIDTH // 2 + side * min(away, _WIDTH // 2 - 1)
        path = f"M{x1} {y1}Q{x} {y1 + 4} {x} {y1 + 20}V{y2 - 20}Q{x} {y2 - 4} {x2} {y2}"
    return f'<path class="{css}" d="{path}"/>{_head(x2, y2)}'


def _sentence(number: int, node: Mapping[str, Any], edges: Sequence[Edge]) -> str:
    """A node for those who hear the drawing."""
    starts = ", ".join(str(start) for start, end in edges if end == number)
    label = f" {node['label']}" if node.get("label") else ""
    stream = f" on {node['stream']}" if node.get("stream") else ""
    return f"{number}: {node['kind']}{label}{stream}{f' after {starts}' if starts else ''}."


def _brief(label: str) -> str:
    """A kernel's name without its namespaces and the arguments of its templates."""
    name = label.removeprefix("void ").partition("<")[0].partition("(")[0]
    return name.rpartition("::")[2] or label


# -- calls ------------------------------------------------------------------------------------------------------------

_SHOWN_CALLS = 50
#: Lanes of streams that the calls do not name.
_CURRENT, _OWN = "current stream", "its own stream"


def draw_calls(calls: Sequence[str]) -> str:
    """The calls of a result that put work of streams in order, as ``<svg>``: a lane for each stream, downwards.

    Empty where there are none.  An arrow is a wait that the calls asked for; what a call did is not known from it.
    """
    points = points_of(calls[-_SHOWN_CALLS:])
    if not points:
        return ""
    lanes = list(dict.fromkeys(point.lane for point in points))
    streams = _Streams()
    width = max(_WIDTH, _LEFT + len(lanes) * _LANE)
    bottom = _HEAD + len(points) * _ROW
    parts = [_capture(points, lanes, one) for one in dict.fromkeys(point.capture for point in points) if one]
    for number, lane in enumerate(lanes):
        x = _LEFT + number * _LANE + _BOX // 2
        parts.append(f'<path class="lane" d="M{x} {_HEAD - 8}V{bottom - 8}"/>')
        parts.append(f'<rect class="{streams.colour(lane)}" x="{x - _BOX // 2}" y="4" width="5" height="14"/>')
        parts.append(_text(x - _BOX // 2 + 9, 15, lane if " " in lane else f"stream {lane}"))
    for number, point in enumerate(points):
        parts += [_wait(start, number, points, lanes) for start in point.after]
    for number, point in enumerate(points):
        x, y = _LEFT + lanes.index(point.lane) * _LANE, _HEAD + number * _ROW
        parts.append(f"<g><title>{_shown(point.said)}</title>")
        parts.append(f'<rect class="box" x="{x}" y="{y}" width="{_BOX}" height="{_ROW - 16}" rx="4"/>')
        parts.append(_text(x + 6, y + 16, _cut(point.label, _FITS + 3), "small") + "</g>")
    described = [f"{point.lane}: {point.said}." for point in points]
    return _svg(width, bottom, "The calls that put the work of streams in order", described, parts)


def _capture(points: Sequence[Point], lanes: Sequence[str], capture: tuple[str, int]) -> str:
    """The time during which a graph captures."""
    rows = [number for number, point in enumerate(points) if point.capture == capture]
    y, height = _HEAD + rows[0] * _ROW - 6, (rows[-1] - rows[0] + 1) * _ROW - 4
    width = _LEFT + len(lanes) * _LANE - 4
    box = f'<rect class="capture" x="0" y="{y}" width="{width}" height="{height}" rx="6"/>'
    return f"<g><title>{_shown(capture[0])} captures</title>{box}</g>"


def _wait(start: int, end: int, points: Sequence[Point], lanes: Sequence[str]) -> str:
    x1, x2 = (_LEFT + lanes.index(points[number].lane) * _LANE + _BOX // 2 for number in (start, end))
    y1, y2 = _HEAD + start * _ROW + _ROW - 16, _HEAD + end * _ROW
    bend = max((y2 - y1) // 2, 6)
    return f'<path class="edge" d="M{x1} {y1}C{x1} {y1 + bend} {x2} {y2 - bend} {x2} {y2}"/>{_head(x2, y2)}'


# -- the parts of a drawing -------------------------------------------------------------------------------------------


class _Streams:
    """Gives each stream a colour, in the order in which they turn up; its name stands beside the colour."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def colour(self, stream: str) -> str:
        return f"stream-{self._numbers.setdefault(stream, len(self._numbers)) % _COLOURS}"


def _svg(width: int, height: int, title: str, described: Iterable[str], parts: Iterable[str]) -> str:
    head = f'<svg class="drawing" role="img" viewBox="0 0 {width} {height + 4}" xmlns="http://www.w3.org/2000/svg">'
    description = _shown(" ".join(described))
    return "\n".join([head, f"<title>{_shown(title)}</title>", f"<desc>{description}</desc>", *parts, "</svg>"])


def _text(x: int, y: int, text: str, css: str = "") -> str:
    attribute = f' class="{css}"' if css else ""
    return f'<text x="{x}" y="{y}"{attribute}>{_shown(_cut(text, _LINE))}</text>'


def _head(x: int, y: int) -> str:
    return f'<path class="head" d="M{x} {y}l-4 -7h8z"/>'


def _shown(text: str) -> str:
    return html.escape(visible_line(text))


def _cut(text: str, limit: int) -> str:
    shown = visible_line(text)
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"
