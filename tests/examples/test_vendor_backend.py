"""The example that vendors copy runs as its README says, with the outcome that stands there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.records.record import Record, read_record

HOME = Path(__file__).parents[2]
EXAMPLE = HOME / "examples" / "vendor_backend"
ADAPTER = "examples/vendor_backend/adapter.py:adapter"
#: Two areas that it passes, and those with its limits.
AREAS = ("replay", "reset", "capture", "failed_capture")


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Record:
    """Of a run of these areas, in one process because that takes the least time."""
    path = tmp_path_factory.mktemp("example") / "run.jsonl"
    words = [f"--impl={ADAPTER}", f"--record={path}", "--no-isolate", "-q", "-p", "no:cacheprovider"]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *words, *(f"suites/{area}" for area in AREAS)],
        cwd=HOME,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1, run.stdout[-3000:] + run.stderr
    return read_record(path)


def _requirements(record: Record, verdict: str) -> set[str]:
    return {name for result in record.results if result.verdict == verdict for name in result.requirements}


def test_it_fails_what_its_readme_names(record: Record) -> None:
    named = re.findall(
        r"^\| `([a-z-]+\.[a-z-]+)` \|", (EXAMPLE / "README.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert named
    assert _requirements(record, "fail") == set(named)
    assert {result.verdict for result in record.results} == {"pass", "fail", "unsupported"}


def test_it_passes_two_areas(record: Record) -> None:
    failed = {result.test.split("/")[1] for result in record.results if result.verdict == "fail"}
    assert failed == {"capture", "failed_capture"}
    passed = [result.test.split("/")[1] for result in record.results if result.verdict == "pass"]
    assert passed.count("replay") > 20
    assert passed.count("reset") > 20


def test_what_is_absent_is_declared(record: Record) -> None:
    absent = {name for name, declared in record.header.capabilities.items() if not declared}
    assert {"pools", "keep_graph", "fork_join"} <= absent
    assert all(
        "declares the capability" in result.message for result in record.results if result.verdict == "unsupported"
    )


def test_the_device_does_not_know_the_kit() -> None:
    for file in (EXAMPLE / "vendor_device").glob("*.py"):
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"^\s*(?:from|import) (?:conformance|suites|reports|reference_impl)\b", text, re.MULTILINE)
