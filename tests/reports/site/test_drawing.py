"""A drawing shows what it is given, whatever that is, and nothing in it acts."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reports.site.drawing import STYLE, draw_calls, draw_graph
from reports.site.lanes import points_of
from reports.site.layers import layered

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=y>',
    "]]>&amp;",
    "\x1b[2J\u202eback\ud800\x00",
    "é" * 5000,
]
SVG = "{http://www.w3.org/2000/svg}"
#: What a drawing is made of, and what its parts may say of themselves.
ELEMENTS = {"svg", "g", "title", "desc", "rect", "path", "text"}
ATTRIBUTES = {"class", "role", "viewBox", "x", "y", "width", "height", "rx", "d"}


def graph(count: int, edges: list[Any], **values: Any) -> dict[str, Any]:
    nodes = [{"kind": "Kernel", "label": f"k{number}"} for number in range(count)]
    return {"name": "g0", "source": "runtime", "nodes": nodes, "edges": edges, **values}


def parsed(text: str) -> ET.Element:
    """The drawing, which must be well formed and hold nothing but shapes and text."""
    root = ET.fromstring(text)  # noqa: S314 - the kit wrote it
    for element in root.iter():
        assert element.tag.removeprefix(SVG) in ELEMENTS
        assert set(element.attrib) <= ATTRIBUTES
    assert root.attrib["role"] == "img"
    assert [child.tag for child in root][:2] == [f"{SVG}title", f"{SVG}desc"]
    return root


def boxes(root: ET.Element) -> list[tuple[float, float, float, float]]:
    corners = ("x", "y", "width", "height")
    return [
        tuple(float(rect.attrib[name]) for name in corners)  # type: ignore[misc]
        for rect in root.iter(f"{SVG}rect")
        if rect.attrib["class"] == "box"
    ]


def texts(root: ET.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{SVG}text")]


def test_a_graph_shows_its_nodes_its_edges_its_streams_and_its_pool() -> None:
    nodes = [{"kind": "Kernel", "label": "void at::native::add<float>(int)", "stream": "s1"}, {"kind": "Memset"}]
    root = parsed(draw_graph(graph(0, [[0, 1]], nodes=nodes, state="captured", pool="p0")))
    assert len(boxes(root)) == 2
    shown = "\n".join(texts(root))
    for words in ("g0 · captured · pool p0", "as the runtime says", "add", "s1", "Memset"):
        assert words in shown
    assert [path.attrib["class"] for path in root.iter(f"{SVG}path")] == ["edge", "head"]
    assert [rect.attrib["class"] for rect in root.iter(f"{SVG}rect")].count("stream-0") == 1
    (described,) = root.iter(f"{SVG}desc")
    assert described.text == "0: Kernel void at::native::add<float>(int) on s1. 1: Memset after 0."


def test_each_node_is_below_those_that_it_waits_for() -> None:
    edges = [(0, 2), (1, 2), (2, 3), (0, 4), (4, 3)]
    layout = layered(5, edges, 3)
    assert all(layout.places[start][0] < layout.places[end][0] for start, end in edges)
    assert layout.closing == frozenset()


@pytest.mark.parametrize(
    ("edges", "closing"),
    [([(0, 1), (1, 0)], {(1, 0)}), ([(0, 1), (1, 2), (2, 0)], {(2, 0)}), ([(1, 2), (2, 3), (3, 1), (0, 1)], {(3, 1)})],
)
def test_what_closes_a_circle_is_dashed(edges: list[tuple[int, int]], closing: set[tuple[int, int]]) -> None:
    assert layered(4, edges, 3).closing == closing
    root = parsed(draw_graph(graph(4, [list(edge) for edge in edges])))
    assert [path.attrib["class"] for path in root.iter(f"{SVG}path")].count("edge closing") == len(closing)
    assert "Dashed: 1 edge that would close a circle." in texts(root)


def test_edges_that_lead_nowhere_are_counted() -> None:
    root = parsed(draw_graph(graph(2, [[0, 1], [0, 1], [0, 7], [1, 1], [10**30, 0]])))
    assert [path.attrib["class"] for path in root.iter(f"{SVG}path")] == ["edge", "head"]
    assert "Not drawn: 4 edges given twice, to the node itself or to none." in texts(root)


def test_an_empty_graph_says_so() -> None:
    root = parsed(draw_graph({"name": "g3", "source": "graph data"}))
    assert texts(root) == ["g3", "as the class says in its graph data", "It has no nodes."]


def test_many_nodes_fit_beside_each_other() -> None:
    root = parsed(draw_graph(graph(1000, [[0, number] for number in range(1, 1000)], more_nodes=3)))
    found = boxes(root)
    assert len(found) == 200
    assert "Not drawn: 803 nodes and 599 edges more." in texts(root)
    assert len({(x, y) for x, y, _, _ in found}) == 200
    width, height = (float(part) for part in root.attrib["viewBox"].split()[2:])
    assert width == 360
    assert all(x >= 0 and x + w <= width and y + h <= height for x, y, w, h in found)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_text(text: str) -> None:
    values = graph(0, [], name=text, source=text, state=text, pool=text)
    values["nodes"] = [{"kind": text, "label": text, "stream": text}]
    for drawing in (draw_graph(values), draw_calls([f"g0.replay({text})", f"s1.wait_stream(s2) raised {text}"])):
        parsed(drawing)
        assert "<script" not in drawing
        assert "style=" not in drawing
        assert not re.search(r"[\x00-\x08\ud800\u202e]", drawing)


@settings(max_examples=60, deadline=None)
@given(
    count=st.integers(0, 12),
    edges=st.lists(st.lists(st.integers(0, 14), min_size=2, max_size=2), max_size=30),
)
def test_any_graph_is_drawn_the_same_each_time(count: int, edges: list[list[int]]) -> None:
    values = graph(count, edges)
    drawing = draw_graph(values)
    assert draw_graph(values) == drawing
    assert len(boxes(parsed(drawing))) == count


CALLS = [
    "adapter.capture_stream() -> s0",
    "s0.wait_stream(s1)",
    "adapter.stream(s0)",
    "adapter.capture_begin(g0)",
    "  g0.capture_begin(pool=p0)",
    "s2.wait_stream(s0)",
    "s0.wait_stream(s2)",
    "g0.capture_end()",
    "end of adapter.stream(s0)",
    "s0.record_event() -> e0",
    "e0.wait(s2)",
    "g0.replay() raised RuntimeError: (odd",
]


def test_calls_are_in_the_lanes_of_their_streams() -> None:
    root = parsed(draw_calls(CALLS))
    assert [text for text in texts(root) if "stream " in text] == ["stream s0", "stream s2"]
    assert "current stream" in texts(root)
    assert len(boxes(root)) == 8
    assert [path.attrib["class"] for path in root.iter(f"{SVG}path")].count("edge") == 3
    (capture,) = (rect for rect in root.iter(f"{SVG}rect") if rect.attrib["class"] == "capture")
    inside = [y for _, y, _, _ in boxes(root) if float(capture.attrib["y"]) < y < float(capture.attrib["y"]) + 160]
    assert len(inside) == 4


def test_a_block_is_over_when_all_that_happened_while_it_was_left_is() -> None:
    calls = [
        "adapter.current_stream() -> s4",
        "adapter.capture(g0, stream=s0)",
        "g0.capture_begin()",
        "end of adapter.capture(g0, stream=s0)",
        "  g0.capture_end()",
        "g0.capture_begin() raised RuntimeError: it holds a capture",
        "g0.replay()",
        "adapter.capture(g1)",
        "g1.capture_begin()",
    ]
    points = points_of(calls)
    assert [point.lane for point in points] == ["s0", "s0", "s4", "s4", "its own stream"]
    assert [point.capture for point in points] == [("g0", 0), ("g0", 0), None, None, ("g1", 1)]
    assert [point.label for point in points if "✗" in point.label] == ["✗g0 capture_begin"]


def test_a_capture_is_over_after_the_first_of_its_phases() -> None:
    points = points_of(["g0.capture_begin()", "g0.capture_end_pre()", "g0.instantiate()", "g0.capture_end_post()"])
    assert [point.capture for point in points] == [("g0", 0), ("g0", 0), None, None]


def test_calls_without_streams_and_graphs_are_not_drawn() -> None:
    assert draw_calls([]) == ""
    assert draw_calls(["adapter.read(tensor) -> tensor", "Toy.replay (did not return)", "("]) == ""


def test_the_style_names_what_drawings_use() -> None:
    used = set(re.findall(r'class="([^"]+)"', draw_graph(graph(3, [[0, 1], [1, 0]])) + draw_calls(CALLS)))
    for name in " ".join(used).split():
        assert f".{name}" in STYLE
