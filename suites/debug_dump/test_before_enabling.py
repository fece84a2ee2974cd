"""Dumps while debug mode was never enabled: these tests come first of all that have to do with it.

Debug mode may hold for all graphs of a process, so the tests that enable it come later by their files' names.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect
from conformance.errors import Unsupported
from conformance.markers import requirement
from suites.support.captures import BOTH_WAYS, capture_by, replay
from suites.support.dumps import quiet, was_enabled
from suites.support.outcomes import caught
from suites.support.programs import Affine


@requirement("debug-dump.needs-enabling")
@BOTH_WAYS
@pytest.mark.parametrize("replays", [0, 2], ids=["captured", "replayed"])
def test_nothing_enabled(impl: Adapter, way: str, replays: int, tmp_path: Path) -> None:
    """A dump writes no file, and the graph replays."""
    program, graph = Affine(impl), impl.new_graph()
    capture_by(impl, way, graph, program.body)
    replay(impl, graph, replays)
    with quiet():
        caught(lambda: impl.debug_dump(graph, str(tmp_path / "graph.dot")))
    files = sorted(path.name for path in tmp_path.iterdir())
    if files and was_enabled(impl):
        raise Unsupported("debug mode was enabled before in this process, maybe for all graphs: run this test alone")
    expect(not files, "debug_dump writes the graph only if debugging was enabled", f"files: {files}")
    program.check(impl, graph, "a dump without debug mode leaves the graph as it is")
