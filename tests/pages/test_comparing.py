"""The page on comparing: its class in both releases, run and compared, comes to what it shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from conformance.comparing.changes import Change
from conformance.records.stream import Planned, RecordStream

HOME = Path(__file__).parents[2]
TEXT = (HOME / "docs" / "comparing.md").read_text(encoding="utf-8")
TESTS = (
    "suites/reset/test_deletes.py::test_work_is_gone",
    "suites/reset/test_neighbours.py::test_other_graph_with_matmul_goes_on",
)


def _command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "import sys; from conformance.cli import main; sys.exit(main())", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.fspath(HOME)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_comparison_ends_as_shown(tmp_path: Path) -> None:
    releases = re.findall(r"^```python\n# fast_graph\.py\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    (run,) = re.findall(r"^graph-conformance (run --impl fast_graph.*)$", TEXT, re.MULTILINE)
    compare = re.findall(r"^graph-conformance (compare .*)$", TEXT, re.MULTILINE)[0]
    for status, source in enumerate(releases):
        (tmp_path / "fast_graph.py").write_text(source, encoding="utf-8")
        done = _command(tmp_path, *run.split(), "--no-isolate", *(f"--test={test}" for test in TESTS))
        assert done.returncode == status, done.stdout[-2000:] + done.stderr
        if not status:
            (tmp_path / "run.jsonl").rename(tmp_path / "published.jsonl")
    done = _command(tmp_path, *compare.split())
    (shown,) = re.findall(r"^```\n( +requirements.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    assert done.returncode == 1, done.stderr
    plans = (entry for entry in RecordStream(tmp_path / "run.jsonl") if isinstance(entry, Planned))
    assert {entry.test: len(entry.digest or "") for entry in plans} == dict.fromkeys(TESTS, 16)
    # How many requirements there are changes with the suites.
    counts = re.compile(r"^no change +\d+", re.MULTILINE)
    assert counts.sub("no change", done.stdout).endswith(counts.sub("no change", shown))


def test_all_kinds_of_data_are_named() -> None:
    (row,) = re.findall(r"^\| `requirements`, `tests` \|.*$", TEXT, re.MULTILINE)
    assert set(Change) == set(re.findall(r"`(\w+)`", row)) - {"requirements", "tests", "count", "first"}
