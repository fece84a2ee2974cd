"""Every class that is wrong on purpose is rejected, by a requirement of the area that its defect belongs to."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conformance.records.record import read_record
from conformance.records.verdicts import Verdict
from reference_impl import CUDAGraph

from .classes import AREAS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with a record for each class."""
    folder = tmp_path_factory.mktemp("records")
    command = [sys.executable, "-m", "tests.broken.run", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return folder


def test_there_are_at_least_twenty() -> None:
    assert len(AREAS) >= 20


@pytest.mark.parametrize("broken", AREAS, ids=lambda broken: broken.__name__)
def test_rejected_by_its_area(broken: type[CUDAGraph], records: Path) -> None:
    record = read_record(records / f"{broken.__name__}.jsonl")
    scored = {entry.id for entry in record.header.requirements if entry.level != "may"}
    rejecting = [result for result in record.results if result.verdict.rejects]
    assert rejecting, "survived"
    for result in rejecting:
        assert result.verdict is Verdict.FAIL
        assert {requirement.split(".")[0] for requirement in result.requirements if requirement in scored} & AREAS[
            broken
        ]
        assert result.message, result
