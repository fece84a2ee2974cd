"""Adapters that are wrong in one way each, as a run tells of them: one clear report, and the right exit status."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conformance.malformed import CASES, Malformed

#: One process for all, since each would import torch once more.
RUN = """
import contextlib, io, json, sys

from conformance.cli import main

results = []
for spec in sys.argv[1:]:
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        status = main(["run", f"--impl={spec}", "--no-isolate", "suites/replay"])
    results.append((int(status), err.getvalue(), out.getvalue()))
print(json.dumps(results))
"""


@dataclass(frozen=True)
class Report:
    """What a command said."""

    status: int
    text: str
    other: str


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file for each case."""
    place = tmp_path_factory.mktemp("malformed")
    for case in CASES:
        (place / f"{_stem(case)}.py").write_text(case.text, encoding="utf-8")
    return place


def _stem(case: Malformed) -> str:
    return f"vendor_{case.name.replace('-', '_')}"


@pytest.fixture(scope="module")
def reports(folder: Path) -> dict[str, Report]:
    """What a run says of each."""
    specs = [f"{_stem(case)}.py:adapter" for case in CASES]
    done = subprocess.run(
        [sys.executable, "-c", RUN, *specs], cwd=folder, capture_output=True, text=True, check=True, timeout=120
    )
    results = json.loads(done.stdout.splitlines()[-1])
    return {case.name: Report(*result) for case, result in zip(CASES, results, strict=True)}


def test_there_are_forty() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 40


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_run_is_refused_with_one_report(case: Malformed, reports: dict[str, Report]) -> None:
    report = reports[case.name]
    assert report.status == 4
    assert "collected" not in report.other
    lines = report.text.strip().splitlines()
    assert lines[0].startswith(f"ERROR: conformance: --impl={_stem(case)}.py:adapter: "[:-1])
    assert len(lines) == (1 if case.faults == 1 else case.faults + 1), report.text
    for part in case.says:
        assert part in report.text
    if case.placed:
        assert f"{_stem(case)}.py, line " in report.text
