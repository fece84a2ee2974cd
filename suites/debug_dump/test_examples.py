"""The documented example of a dump, as it is written there."""

from __future__ import annotations

from pathlib import Path

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_no_raise
from conformance.markers import requirement
from suites.support.captures import replay
from suites.support.dumps import enable, quiet


@requirement("accelerator.debug-example")
def test_debug_mode_and_dump(impl: Adapter, tmp_path: Path) -> None:
    """Debug mode, a capture in a with statement, a dump: the file is there, and the graph replays."""
    x, path = impl.full(37, 0.0), tmp_path / "graph_dump.dot"
    stream, graph = impl.new_stream(), impl.graph_class()
    stream.wait_stream(impl.current_stream())
    with quiet():
        enable(graph)
        with stream, graph:  # type: ignore[attr-defined]  # torch's streams are context managers
            x += 1
        expect_no_raise("a graph in debug mode can be dumped", lambda: graph.debug_dump(str(path)))
    expect(path.is_file() and path.stat().st_size > 0, "the dump is written", "there is no file, or an empty one")
    replay(impl, graph, 3)
    expect_equal(impl, x, 3.0, "a graph that was dumped replays")
