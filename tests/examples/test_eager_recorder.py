"""The class that shares no line with the reference is judged as its README says, with no failure that it leaves out."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from conformance.records.record import Record, read_record
from conformance.waivers.starting import start_of

HOME = Path(__file__).parents[2]
EXAMPLE = HOME / "examples" / "eager_recorder"
README = (EXAMPLE / "README.md").read_text(encoding="utf-8")
PAGE = (HOME / "docs" / "adapters.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Record, list[str], int]:
    """The record, what was printed, and the exit status; in one process because that takes the least time."""
    path = tmp_path_factory.mktemp("example") / "run.jsonl"
    implementation = "--impl=examples/eager_recorder/adapter.py:adapter"
    words = ["run", implementation, f"--record={path}", "--no-isolate", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-c", "import conformance.cli; raise SystemExit(conformance.cli.main())", *words],
        cwd=HOME,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in {0, 1}, done.stdout[-3000:] + done.stderr
    return read_record(path), done.stdout.splitlines(), done.returncode


def test_it_fails_what_its_readme_names(run: tuple[Record, list[str], int]) -> None:
    record, _, _ = run
    named = re.findall(r"^- `([a-z-]+\.[a-z-]+)`$", README, re.MULTILINE)
    assert {name for result in record.results if result.verdict.rejects for name in result.requirements} == set(named)
    assert {result.verdict.value for result in record.results} == {"pass", "fail", "unsupported"}


def test_it_ends_as_its_readme_shows(run: tuple[Record, list[str], int]) -> None:
    _, lines, status = run
    assert status == 1
    assert lines[-1].startswith("DOES NOT CONFORM: recorder as cuda 1.10: ")
    assert lines[-1] in README.splitlines()


def test_it_ends_as_the_page_about_adapters_shows(run: tuple[Record, list[str], int]) -> None:
    record, lines, _ = run
    (block,) = re.findall(r"^```\n…\n(does not conform in: .*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    shown = [line for line in block.splitlines() if line not in {"", "…"}]
    assert len(shown) > 8
    assert [line for line in shown if line not in lines] == []
    waivers = start_of(record.path, date(2026, 1, 1)).count("[[waiver]]")
    assert f"This writes {waivers} waivers, one for each requirement of the " in PAGE


def test_it_knows_neither_the_kit_nor_its_reference() -> None:
    text = (EXAMPLE / "recorder.py").read_text(encoding="utf-8")
    assert not re.search(r"\b(?:conformance|suites|reports|reference_impl)\b", text)
    assert len(text.splitlines()) <= 150
