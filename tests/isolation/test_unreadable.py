"""Whatever reading the graphs of a failed test does to its worker, the test keeps its verdict, and no other notices."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.records.result import TestResult
from tests.isolation.conftest import Outcome, folder_of, session

CALLS = (
    "adapter.new_graph(keep_graph=True) -> g0",
    "adapter.capture_begin(g0)",
    "  g0.capture_begin()",
    "g0.capture_end()",
    "g0.instantiate()",
    "g0.replay()",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder_of(
        tmp_path_factory.mktemp("unreadable") / "suite",
        toy="toy/toy",
        unreadable="toy/unreadable",
        test_unreadable="toy/unreadable_suite",
    )


def ran(folder: Path, path: Path, way: str, *words: str) -> tuple[Outcome, dict[str, TestResult]]:
    options = ["--impl=unreadable.py:adapter", "--test-timeout=3", *words]
    outcome = session(folder, path / "run.jsonl", *options, HOSTILE_READING=way)
    results = {result.test.partition("[")[2].removesuffix("]"): result for result in outcome.record.results}
    assert outcome.status == 1, outcome.output
    assert {name: result.verdict.value for name, result in results.items()} == {
        "fails-1": "fail",
        "calm": "pass",
        "fails-2": "fail",
    }
    for name in ("fails-1", "fails-2"):
        result = results[name]
        assert (result.expected, result.seen, result.phase) == ("it is calm", f"{name} is not", "call")
        assert result.calls == CALLS
        assert result.ending is None
    assert not results["calm"].calls
    assert not results["calm"].graphs
    return outcome, results


def test_graphs_are_read_in_a_worker(folder: Path, tmp_path: Path) -> None:
    _, results = ran(folder, tmp_path, "well", "--isolate")
    for name in ("fails-1", "fails-2"):
        (graph,) = results[name].graphs
        assert (graph["name"], graph["source"], graph["state"]) == ("g0", "graph data", "instantiated")
        assert graph["nodes"] == [{"kind": "Kernel", "label": "work", "stream": None}]


@pytest.mark.parametrize(
    ("way", "how"),
    [
        ("abort", "its process was ended by SIGABRT"),
        ("hang", "it did not come back in 3 s and was ended by SIGTERM"),
    ],
)
def test_a_worker_that_is_lost_to_reading_is_charged_to_no_test(
    folder: Path, tmp_path: Path, way: str, how: str
) -> None:
    _, results = ran(folder, tmp_path, way, "--isolate")
    assert results["fails-1"].warnings == (f"Unreadable: {how} when its graphs were read; no others are read",)
    assert results["fails-2"].warnings == ()
    assert results["fails-1"].graphs == results["fails-2"].graphs == ()


def test_a_class_that_does_not_say_has_no_graphs(folder: Path, tmp_path: Path) -> None:
    _, results = ran(folder, tmp_path, "raise", "--isolate")
    assert not results["fails-1"].graphs
    assert not results["fails-1"].warnings


def test_in_one_process_nothing_is_risked(folder: Path, tmp_path: Path) -> None:
    _, results = ran(folder, tmp_path, "abort", "--no-isolate")
    assert results["fails-1"].graphs == ()
