"""The file: that it is written, its format, and what it shows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect, expect_no_raise
from conformance.markers import needs, requirement
from suites.support.bindings import names_bindings, without_bindings
from suites.support.captures import BOTH_WAYS, capture_by, capture_into, kept_graph
from suites.support.data import arrows_in, data_of
from suites.support.dot import NotDot, following, read
from suites.support.dumps import debugged, drawing_in, dump, dumped, enable, quiet, working_in
from suites.support.outcomes import caught, in_words
from suites.support.programs import OPERATORS, fork, row_of_operators, uneven_fork
from suites.support.shape import arrows_of, counterparts, expect_forward
from suites.support.template import Template

#: What is no number, address or id: those may be others in each dump of one graph.
_WORD = re.compile(r"\b[^\W\d]+\b")

VERBOSITY = pytest.mark.parametrize("verbose", [True, False], ids=["verbose", "brief"])


def _words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text))


def _nothing() -> None:
    """A program of no work."""


def _kept(impl: Adapter, program: Callable[[], Any]) -> Any:
    """A graph with keep_graph=True holding the work of `program`, which may be none."""
    with quiet():  # an empty capture may warn
        return kept_graph(impl, program)


@requirement("debug-dump.writes-file")
@BOTH_WAYS
def test_file_is_written(impl: Adapter, way: str, tmp_path: Path) -> None:
    """Debug mode, a capture by either means, a dump: the file is there and is not empty."""
    graph = impl.new_graph()
    with quiet():
        expect_no_raise("debug mode can be enabled before a capture", lambda: enable(graph))
        capture_by(impl, way, graph, row_of_operators(impl))
    dump(impl, graph, tmp_path / "graph.dot", "after enable_debug_mode and a capture, debug_dump writes the graph")


@requirement("debug-dump.writes-file")
@pytest.mark.parametrize(
    "name", ["graph.dot", "a graph of two words.dot", "graph-\N{LATIN SMALL LETTER A WITH DIAERESIS}.dot"], ids=ascii
)
@pytest.mark.parametrize("way", ["absolute", "relative"])
def test_path(impl: Adapter, way: str, name: str, tmp_path: Path) -> None:
    """The file is where its path says, seen from the working directory if it is relative; others may be beside it."""
    graph = debugged(impl, row_of_operators(impl))
    path = Path(name) if way == "relative" else tmp_path / name
    promise = f"after enable_debug_mode and a capture, debug_dump writes to the {way} path that it gets"
    with working_in(tmp_path):
        dump(impl, graph, path, promise)


@requirement("debug-dump.writes-file")
@pytest.mark.parametrize("times", [2, 3])
def test_enabled_again(impl: Adapter, times: int, tmp_path: Path) -> None:
    """To enable debug mode once more changes nothing."""
    graph = impl.new_graph()
    with quiet():
        for _ in range(times):
            expect_no_raise("debug mode can be enabled before a capture", lambda: enable(graph))
        capture_into(impl, graph, row_of_operators(impl))
    dump(impl, graph, tmp_path / "graph.dot", "with debug mode enabled more than once, debug_dump writes the graph")


@requirement("debug-dump.writes-file")
def test_file_of_one_of_two(impl: Adapter, tmp_path: Path) -> None:
    """Debug mode for one graph, while another one is there: the dump of the first is written."""
    other, graph = impl.new_graph(), impl.new_graph()
    with quiet():
        capture_by(impl, "begin-end", other, row_of_operators(impl))
        expect_no_raise("debug mode can be enabled before a capture", lambda: enable(graph))
        capture_by(impl, "begin-end", graph, row_of_operators(impl))
    dump(impl, graph, tmp_path / "graph.dot", "after enable_debug_mode and a capture, debug_dump writes the graph")


def _in_place(impl: Adapter, operators: int) -> Callable[[], Any]:
    """A program of so many operators, no two alike."""
    x = impl.full(37, 1.0)

    def body() -> None:
        for number in range(1, operators + 1):
            x.add_(number)

    return body


def _dumps_in_debug_mode(impl: Adapter, counts: Sequence[int], folder: Path) -> list[bytes]:
    """What the dumps of graphs of so many operators have in them, written when all of them are there."""
    graphs = [debugged(impl, _in_place(impl, operators)) for operators in counts]
    dumps = []
    for number, graph in enumerate(graphs):
        path = folder / f"{number}.dot"
        dump(impl, graph, path, "after enable_debug_mode and a capture, debug_dump writes the graph")
        dumps.append(path.read_bytes())
    return dumps


@requirement("debug-dump.tells-graphs-apart")
def test_other_work_other_file(impl: Adapter, tmp_path: Path) -> None:
    """One operator and twenty give different files, whatever the format."""
    one, many = _dumps_in_debug_mode(impl, (1, 20), tmp_path)
    expect(one != many, "a dump is of the captured graph", f"1 and 20 operators give the same {len(one)} bytes")


@requirement("debug-dump.grows-with-the-work")
def test_more_work_more_text(impl: Adapter, tmp_path: Path) -> None:
    """The dump of twenty operators is longer than those of one, written before it and after it."""
    before, many, after = map(len, _dumps_in_debug_mode(impl, (1, 20, 1), tmp_path))
    promise = "the dump of a larger graph is larger"
    expect(max(before, after) < many, promise, f"{before} and {after} bytes for 1 operator, {many} for 20")


@requirement("debug-dump.dot-format")
@needs("fork_join")
@VERBOSITY
def test_format(impl: Adapter, tmp_path: Path, *, verbose: bool) -> None:
    """Both forms can be parsed."""
    path = tmp_path / "graph.dot"
    graph = kept_graph(impl, fork(impl))
    dump(impl, graph, path, "a graph with keep_graph=True can be dumped", verbose=verbose)
    drawing_in(path)


@requirement("debug-dump.format-elsewhere")
def test_format_elsewhere(impl: Adapter, tmp_path: Path, observe: Callable[[str, Any], None]) -> None:
    """Records whether the file is DOT for a class that does not say."""
    path = tmp_path / "graph.dot"
    graph = debugged(impl, row_of_operators(impl))
    with quiet():
        impl.debug_dump(graph, str(path))
    if not path.is_file():
        observe("format", "no file")
        return
    try:
        drawing = read(path.read_text(encoding="utf-8"))
    except (NotDot, UnicodeDecodeError) as error:
        observe("format", f"not DOT: {error}")
    else:
        observe("format", "DOT")
        observe("nodes of four operators", len(drawing.nodes))


@requirement("debug-dump.shows-the-work")
@pytest.mark.parametrize("operators", [1, OPERATORS])
def test_work_is_shown(impl: Adapter, operators: int, tmp_path: Path) -> None:
    """Captured work is at least one node: how many there are for an operator is open."""
    drawing = dumped(impl, kept_graph(impl, row_of_operators(impl, operators)), tmp_path / "graph.dot")
    expect(bool(drawing.nodes), "a dump shows the captured graph", f"no node for {operators} captured operators")


@requirement("debug-dump.shows-the-order")
@pytest.mark.parametrize("operators", [1, OPERATORS, 133])
def test_row_of_operators(impl: Adapter, operators: int, tmp_path: Path) -> None:
    """Operators of one stream are nodes in a row, each a predecessor of the next."""
    drawing = dumped(impl, kept_graph(impl, row_of_operators(impl, operators)), tmp_path / "graph.dot")
    nodes = len(drawing.nodes)
    pairs = sum(len(following(drawing.edges, node)) for node in drawing.nodes)
    expect(
        pairs == nodes * (nodes - 1) // 2,
        "a dump shows the order of the work of one stream",
        f"{pairs} ordered pairs of {nodes} nodes",
    )


@requirement("debug-dump.matches-template", "debug-dump.own-graph")
@VERBOSITY
def test_as_the_runtime_has_it(impl: Adapter, tmp_path: Path, *, verbose: bool) -> None:
    """The drawing has the nodes and edges that the runtime finds, also after edits, and its arrows lead forward."""
    graph, flag = kept_graph(impl, row_of_operators(impl)), impl.full(37, 0.0)
    template = Template(impl, graph)
    leaves = template.leaves()
    for number in range(4):
        drawing, expected = dumped(impl, graph, tmp_path / f"graph{number}.dot", verbose=verbose), arrows_of(template)
        same = counterparts(drawing.arrows(), expected) is not None
        expect(
            same, "a dump shows the template's nodes and edges", f"{drawing.edges} where the template has {expected}"
        )
        template.add_memset(flag, 1.0, after=leaves if number == 0 else template.leaves()[: number - 1])


@requirement("debug-dump.matches-graph-data", "debug-dump.own-graph")
def test_as_the_graph_data_have_it(impl: Adapter, tmp_path: Path) -> None:
    """The drawing has the nodes and edges that get_graph_data reports."""
    programs: list[Callable[[Adapter], Callable[[], None]]] = [row_of_operators]
    if impl.capabilities.get("fork_join") is not False:
        programs.append(uneven_fork)
    for program in programs:
        graph = kept_graph(impl, program(impl))
        graph.instantiate()
        expected = arrows_in(data_of(graph))
        drawing = dumped(impl, graph, tmp_path / f"{program.__name__}.dot")
        same = counterparts(drawing.arrows(), expected) is not None
        expect(same, "a dump shows the nodes and edges of the graph data", f"{drawing.edges}, not {expected}")


@requirement("debug-dump.fork-and-join", "debug-dump.shows-the-order")
@VERBOSITY
def test_fork_and_join(impl: Adapter, tmp_path: Path, *, verbose: bool) -> None:
    """One node comes before both branches, one after both, and the branches are not ordered."""
    drawing = dumped(impl, kept_graph(impl, fork(impl)), tmp_path / "graph.dot", verbose=verbose)
    after = {node: following(drawing.edges, node) for node in drawing.nodes}
    loose = [(a, b) for a in drawing.nodes for b in drawing.nodes if a < b and b not in after[a] and a not in after[b]]
    expect(bool(loose), "the branches of a fork are not ordered", f"all nodes are in a row: {drawing.edges}")
    for left, right in loose:
        before = [node for node in after if {left, right} <= after[node]]
        behind = after[left] & after[right]
        expect(
            bool(before) and bool(behind),
            "both branches depend on what came before the fork, and what comes after the join on both",
            f"{len(before)} nodes before both branches, {len(behind)} after both, in {drawing.edges}",
        )


@requirement("debug-dump.fork-and-join", "debug-dump.shows-the-order")
@VERBOSITY
def test_direction(impl: Adapter, tmp_path: Path, *, verbose: bool) -> None:
    """Of a little work before a fork and much after the join, most comes after: the arrows lead forward."""
    drawing = dumped(impl, kept_graph(impl, uneven_fork(impl)), tmp_path / "graph.dot", verbose=verbose)
    expect_forward(
        {node: following(drawing.edges, node) for node in drawing.nodes}, "arrows lead from earlier work to later work"
    )


@requirement("debug-dump.own-graph")
def test_own_graph(impl: Adapter, tmp_path: Path) -> None:
    """Graphs that are alive together, every other one of them empty, dump what each of them holds."""
    programs = (_nothing, row_of_operators(impl), _nothing, row_of_operators(impl))
    graphs = [_kept(impl, program) for program in programs]
    sizes = [len(dumped(impl, graph, tmp_path / f"{at}.dot").nodes) for at, graph in enumerate(graphs)]
    expect(
        max(sizes[::2]) < min(sizes[1::2]),
        "each graph dumps its own work: none, some, none and some again",
        f"{sizes} nodes",
    )


@requirement("debug-dump.own-graph")
def test_after_recapture(impl: Adapter, tmp_path: Path) -> None:
    """After reset() and a new capture the dump shows the new work."""
    graph = kept_graph(impl, row_of_operators(impl))
    sizes = [len(dumped(impl, graph, tmp_path / "before.dot").nodes)]
    for turn, program in enumerate((_nothing, row_of_operators(impl))):
        graph.reset()
        with quiet():
            capture_into(impl, graph, program)
        sizes.append(len(dumped(impl, graph, tmp_path / f"after{turn}.dot").nodes))
    expect(
        sizes[1] < min(sizes[0], sizes[2]),
        "after reset() a dump shows the new capture, here of nothing, and of work again",
        f"{sizes} nodes",
    )


@requirement("debug-dump.empty-graph")
@VERBOSITY
def test_empty_graph(impl: Adapter, tmp_path: Path, *, verbose: bool) -> None:
    """The dump of an empty capture has no nodes."""
    drawing = dumped(impl, _kept(impl, _nothing), tmp_path / "graph.dot", verbose=verbose)
    expect(not drawing.nodes and not drawing.edges, "the dump of an empty graph is empty", f"{drawing}")


@requirement("debug-dump.verbose-structure")
@pytest.mark.parametrize("program", ["row", pytest.param("fork", marks=needs("fork_join"))])
def test_same_structure(impl: Adapter, program: str, tmp_path: Path) -> None:
    """Brief or verbose, the nodes and edges are the same."""
    graph = kept_graph(impl, row_of_operators(impl) if program == "row" else uneven_fork(impl))
    brief = dumped(impl, graph, tmp_path / "brief.dot", verbose=False)
    verbose = dumped(impl, graph, tmp_path / "verbose.dot", verbose=True)
    expect(
        counterparts(brief.arrows(), verbose.arrows()) is not None,
        "the brief and the verbose dump show the same graph",
        f"brief: {brief.edges} of {len(brief.nodes)} nodes; verbose: {verbose.edges} of {len(verbose.nodes)} nodes",
    )


@requirement("debug-dump.verbose-default")
def test_verbose_is_the_default(impl: Adapter, tmp_path: Path) -> None:
    """Without the argument the file says what the verbose one says, and that is no less than the brief one says."""
    graph = kept_graph(impl, row_of_operators(impl))
    words: dict[str, Counter[str]] = {}
    for name, verbose in (("default", None), ("verbose", True), ("brief", False)):
        path = tmp_path / f"{name}.dot"
        dumped(impl, graph, path, verbose=verbose)
        words[name] = _words(path.read_text(encoding="utf-8"))
    promise = "the verbose dump is the default"
    difference = {**(words["default"] - words["verbose"]), **(words["verbose"] - words["default"])}
    expect(not difference, promise, f"words that differ in number: {difference}")
    sizes = {name: one.total() for name, one in words.items()}
    expect(sizes["verbose"] >= sizes["brief"], promise, f"words: {sizes}")


@requirement("debug-dump.verbose-tells-more")
def test_verbose_tells_more(impl: Adapter, tmp_path: Path) -> None:
    """Of a graph with work the verbose file says more than the brief one."""
    graph = kept_graph(impl, row_of_operators(impl))
    sizes = {}
    for name, verbose in (("verbose", True), ("brief", False)):
        path = tmp_path / f"{name}.dot"
        dumped(impl, graph, path, verbose=verbose)
        sizes[name] = _words(path.read_text(encoding="utf-8")).total()
    expect(sizes["verbose"] > sizes["brief"], "the verbose dump tells more than the brief one", f"words: {sizes}")


@requirement("debug-dump.without-bindings")
def test_without_the_bindings(impl: Adapter, tmp_path: Path) -> None:
    """Where cuda.bindings cannot be imported the file is written all the same, or the error names the package."""
    graph, path = kept_graph(impl, row_of_operators(impl)), tmp_path / "graph.dot"
    with quiet(), without_bindings():
        error = caught(lambda: impl.debug_dump(graph, str(path)))
    promise = "a missing cuda.bindings is named, or the graph is dumped without it"
    expect(path.is_file() if error is None else names_bindings(error), promise, in_words(error))
