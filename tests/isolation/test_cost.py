"""What isolation costs: a crash is one more start of a worker, and a test that passed leaves next to nothing."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conformance.records.record import read_record
from tests.isolation.conftest import ROOT, environment, session

SUITE = "suites/replay/test_tensors.py"
CRASHES = "test_expanded_input[hostile]"
#: The start of a worker, as far as it is the implementation's own.
IMPORT = "import conformance.adapters.reference as reference; reference.adapter()"


def _seconds(words: list[str], *statuses: int, **variables: str) -> float:
    start = time.monotonic()
    run = subprocess.run(words, cwd=ROOT, env=environment(**variables), capture_output=True, timeout=120, check=False)
    assert run.returncode in statuses, run.stdout.decode()
    return time.monotonic() - start


def test_a_crash_costs_one_worker(toy_folder: Path, tmp_path: Path) -> None:
    outcome = session(toy_folder, tmp_path / "run.jsonl", "-n1", "-k", "test_it", HOSTILE="segmentation-fault@calm-2")
    processes = [result.observations.get("process") for result in outcome.record.results]
    assert outcome.verdicts["test_toy.py::test_it[calm-2]"] == "crash"
    assert len(processes) == 5
    assert processes[0] == processes[1] != processes[3] == processes[4]


@pytest.mark.soak  # it is about seconds, and needs a machine that does nothing else
def test_a_crash_costs_one_start_of_a_worker(hostile_folder: Path, tmp_path: Path) -> None:
    backend = f"--impl={hostile_folder / 'backend.py'}:adapter"
    run = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", SUITE, backend, "-n1"]
    _seconds([sys.executable, "-c", IMPORT], 0)  # compiles what has not been
    extra, allowed = [], []
    for number in range(2):  # other programs may get in the way of one
        records = [tmp_path / f"{number}-{kind}.jsonl" for kind in ("well", "crash")]
        well = _seconds([*run, f"--record={records[0]}"], 0)
        started = _seconds([sys.executable, "-c", IMPORT], 0)
        crash = _seconds([*run, f"--record={records[1]}"], 1, HOSTILE=f"segmentation-fault@{CRASHES}")
        results = [read_record(record).results for record in records]
        changed = [two.verdict.value for one, two in zip(*results, strict=True) if one.verdict is not two.verdict]
        assert changed == ["crash"]
        extra.append(crash - well)
        allowed.append(2 * started + 1)
        if extra[-1] <= allowed[-1]:
            return
    pytest.fail(f"a crash cost {extra} s where {allowed} s were allowed")


MANY = """
import pytest
from conformance.markers import requirement

@requirement("hostile.behaves")
@pytest.mark.parametrize("number", range(1600))
def test_it(impl, number):
    impl.new_graph().replay()
"""
LOOKS = """
import os
from pathlib import Path

numbers = []

def pytest_runtest_logfinish(nodeid):
    numbers.append(nodeid)
    if len(numbers) in {600, 1600} and "PYTEST_XDIST_WORKER" not in os.environ:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        with open("sizes.txt", "a") as file:
            print(pages * os.sysconf("SC_PAGE_SIZE"), file=file)
"""


def test_the_parent_keeps_next_to_nothing_of_a_test_that_passed(toy_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "suite"
    shutil.copytree(toy_folder, folder)
    (folder / "test_toy.py").unlink()
    (folder / "test_many.py").write_text(MANY, encoding="utf-8")
    (folder / "looks.py").write_text(LOOKS, encoding="utf-8")
    outcome = session(folder, tmp_path / "run.jsonl", "-p", "looks")
    assert outcome.status == 0, outcome.output
    before, after = map(int, (folder / "sizes.txt").read_text(encoding="utf-8").split())
    # pytest alone would keep some kilobytes of each.
    assert (after - before) / 1000 < 800, (before, after)
