"""What dumping changes, which is nothing, and which paths it takes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect, expect_raises
from conformance.markers import requirement
from suites.support.captures import kept_graph, replay
from suites.support.dumps import debugged, drawing_in, dump, dumped, quiet
from suites.support.outcomes import caught
from suites.support.programs import Affine, Counter, row_of_operators


@requirement("debug-dump.enabled-graph-replays")
def test_graph_in_debug_mode_replays(impl: Adapter) -> None:
    """Debug mode changes neither results nor how often the work runs."""
    counter, program = Counter(impl), Affine(impl)

    def body() -> None:
        counter.body()
        program.body()

    graph = debugged(impl, body)
    counter.expect_runs(0, "a capture in debug mode runs nothing")
    program.check(impl, graph, "a graph in debug mode computes what was captured")
    counter.expect_runs(3, "each replay in debug mode runs the captured work once")


@requirement("debug-dump.dump-changes-nothing")
def test_dumps_between_replays(impl: Adapter, tmp_path: Path) -> None:
    """Dumps before and between replays run nothing and disturb nothing."""
    counter = Counter(impl)
    graph = debugged(impl, counter.body)
    for turn in range(1, 4):
        with quiet():
            caught(lambda: impl.debug_dump(graph, str(tmp_path / "graph.dot")))
        counter.expect_runs(turn - 1, "a dump runs nothing")
        replay(impl, graph)
        counter.expect_runs(turn, "a dump changes nothing about what replays do")


@requirement("debug-dump.dump-again")
def test_dump_again(impl: Adapter, tmp_path: Path) -> None:
    """Dumps before and after instantiation and replays show the same graph."""
    graph = kept_graph(impl, row_of_operators(impl))
    drawings = [dumped(impl, graph, tmp_path / "captured.dot")]
    graph.instantiate()
    drawings.append(dumped(impl, graph, tmp_path / "instantiated.dot"))
    replay(impl, graph, 2)
    drawings.append(dumped(impl, graph, tmp_path / "replayed.dot"))
    shapes = [(len(one.nodes), len(one.edges)) for one in drawings]
    expect(len(set(shapes)) == 1, "each dump shows the same graph", f"nodes and edges: {shapes}")


@requirement("debug-dump.dump-again")
def test_existing_file_is_replaced(impl: Adapter, tmp_path: Path) -> None:
    """A dump over a longer file leaves nothing of that one."""
    path = tmp_path / "graph.dot"
    path.write_text("no graph at all\n" * 4000, encoding="utf-8")
    graph = kept_graph(impl, row_of_operators(impl))
    over = dumped(impl, graph, path)
    fresh = dumped(impl, graph, tmp_path / "fresh.dot")
    expect(
        (len(over.nodes), len(over.edges)) == (len(fresh.nodes), len(fresh.edges)),
        "a dump replaces the file that was there",
        f"{len(over.nodes)} nodes instead of {len(fresh.nodes)}",
    )


@requirement("debug-dump.dump-again-elsewhere")
def test_dump_again_elsewhere(impl: Adapter, tmp_path: Path, observe: Callable[[str, Any], None]) -> None:
    """Records how many of three dumps write a file."""
    graph = debugged(impl, Affine(impl).body)
    paths = [tmp_path / f"{number}.dot" for number in range(3)]
    for path in paths:
        with quiet():
            caught(lambda path=path: impl.debug_dump(graph, str(path)))  # type: ignore[misc]  # bound at once
    observe("files written", [path.exists() for path in paths])


def _unwritable(tmp_path: Path, kind: str) -> Path:
    if kind == "folder":
        (tmp_path / "folder.dot").mkdir()
        return tmp_path / "folder.dot"
    if kind == "file-as-folder":
        (tmp_path / "file").write_text("a file", encoding="utf-8")
        return tmp_path / "file" / "graph.dot"
    return tmp_path / "missing" / "graph.dot"


@requirement("debug-dump.unwritable-path")
@pytest.mark.parametrize("kind", ["missing-folder", "file-as-folder", "folder"])
def test_unwritable_path(impl: Adapter, kind: str, tmp_path: Path) -> None:
    """The failure is reported; the graph replays and can be dumped elsewhere."""
    program = Affine(impl)
    graph = debugged(impl, program.body)
    with quiet():
        expect_raises(
            "a path that cannot be written is reported",
            lambda: impl.debug_dump(graph, str(_unwritable(tmp_path, kind))),
        )
    program.check(impl, graph, "a dump that failed leaves the graph as it is")
    if impl.dialect == "cuda":
        path = tmp_path / "graph.dot"
        dump(impl, graph, path, "after a dump that failed another path can be written")
        drawing_in(path)


@requirement("debug-dump.path-like")
@pytest.mark.parametrize("kind", ["path-like", "bytes"])
def test_path_that_is_no_text(impl: Adapter, kind: str, tmp_path: Path, observe: Callable[[str, Any], None]) -> None:
    """Records what becomes of a path object, and of bytes."""
    path = tmp_path / "graph.dot"
    graph = debugged(impl, Affine(impl).body)
    with quiet():
        error = caught(lambda: impl.debug_dump(graph, path if kind == "path-like" else str(path).encode()))
    observe("outcome", f"refused: {type(error).__name__}" if error is not None else f"file written: {path.exists()}")


@requirement("debug-dump.xpu-extension")
@pytest.mark.parametrize("name", ["graph", "graph.txt", "graph.dot.bak"])
def test_other_ending(impl: Adapter, name: str, tmp_path: Path, observe: Callable[[str, Any], None]) -> None:
    """Records whether a path with another ending is refused."""
    path = tmp_path / name
    graph = debugged(impl, Affine(impl).body)
    with quiet():
        error = caught(lambda: impl.debug_dump(graph, str(path)))
    observe("outcome", f"refused: {type(error).__name__}" if error is not None else f"file written: {path.exists()}")
