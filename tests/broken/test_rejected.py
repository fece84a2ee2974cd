"""Every class that is wrong on purpose is rejected, by a requirement of the area that its defect belongs to."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from conformance.record import Record, read_record
from conformance.verdicts import Verdict
from reference_impl import CUDAGraph

from . import classes

ROOT = Path(__file__).parents[2]

GROUPS: dict[tuple[str, ...], list[type[CUDAGraph]]] = defaultdict(list)
for broken, areas in classes.AREAS.items():
    GROUPS[tuple(sorted(areas))].append(broken)


def name_of(broken: type[CUDAGraph]) -> str:
    return f"tests/broken/classes.py:{broken.__name__}"


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Record]:
    """One record for each class, over the suites of its areas; the processes run two at a time."""
    folder = tmp_path_factory.mktemp("records")
    waiting = [
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=no"),
            f"--impl={','.join(map(name_of, group))}",
            f"--record={folder / str(number)}/",
            *(f"suites/{area.replace('-', '_')}" for area in areas),
        ]
        for number, (areas, group) in enumerate(GROUPS.items())
    ]
    running: list[subprocess.Popen[bytes]] = []
    while waiting or running:
        while waiting and len(running) < 2:
            running.append(subprocess.Popen(waiting.pop(), cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT))
        assert running.pop(0).wait(timeout=300) == 1
    found = [read_record(path) for path in folder.rglob("*.jsonl")]
    return {record.header.implementation: record for record in found}


def test_there_are_at_least_twenty() -> None:
    assert len(classes.AREAS) >= 20


@pytest.mark.parametrize("broken", classes.AREAS, ids=lambda broken: broken.__name__)
def test_rejected_by_its_area(broken: type[CUDAGraph], records: dict[str, Record]) -> None:
    record = next(record for name, record in records.items() if name.endswith(f":{broken.__name__}"))
    scored = {entry.id for entry in record.header.requirements if entry.level != "may"}
    failed = {
        requirement
        for result in record.results
        if result.verdict is Verdict.FAIL
        for requirement in result.requirements
        if requirement in scored
    }
    assert {requirement.split(".")[0] for requirement in failed} & classes.AREAS[broken], sorted(failed)
    assert not [result for result in record.results if result.verdict is Verdict.ERROR]
    with_words = [r for r in record.results if r.verdict is Verdict.FAIL and r.promise and r.seen]
    assert with_words, "no failure says what was promised and what was seen"
