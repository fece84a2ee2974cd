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
README = (EXAMPLE / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Record:
    """Of the run that the README shows, in one process because that takes the least time."""
    path = tmp_path_factory.mktemp("example") / "run.jsonl"
    words = [f"--impl={ADAPTER}", "--profile=core", f"--record={path}", "--no-isolate", "-q", "-p", "no:cacheprovider"]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        cwd=HOME,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr
    (line,) = re.findall(r"^CONFORMS IN PART: .*$", README, re.MULTILINE)
    assert line in run.stdout.splitlines()
    return read_record(path)


def _requirements(record: Record, verdict: str) -> set[str]:
    return {name for result in record.results if result.verdict == verdict for name in result.requirements}


def test_it_fails_what_its_readme_names(record: Record) -> None:
    named = re.findall(r"^\| `([a-z-]+\.[a-z-]+)` \|", README, re.MULTILINE)
    assert named
    assert _requirements(record, "fail") == set(named)
    assert {result.verdict for result in record.results} == {"pass", "fail", "unsupported"}


def test_it_conforms_in_the_core_and_nothing_more(record: Record) -> None:
    assert record.assessment.verdict == "conforms_in_part"
    assert record.assessment.profiles["core"] == "met"
    assert record.assessment.profiles["pools"] == "declined"


def test_it_passes_two_areas(record: Record) -> None:
    rejected = {result.test.split("/")[1] for result in record.results if result.verdict == "fail"}
    assert rejected.isdisjoint({"replay", "reset"})
    passed = [result.test.split("/")[1] for result in record.results if result.verdict == "pass"]
    assert passed.count("replay") > 20
    assert passed.count("reset") > 20


def test_what_is_absent_is_declared(record: Record) -> None:
    absent = {name for name, declared in record.header.capabilities.items() if not declared}
    assert {"pools", "keep_graph", "fork_join"} <= absent
    reason = re.compile("declares the capability|is not documented here or declared absent|does not owe")
    assert all(reason.search(result.message) for result in record.results if result.verdict == "unsupported")


def test_the_device_does_not_know_the_kit() -> None:
    for file in (EXAMPLE / "vendor_device").glob("*.py"):
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"^\s*(?:from|import) (?:conformance|suites|reports|reference_impl)\b", text, re.MULTILINE)
