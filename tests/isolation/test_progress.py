"""How far a session with workers has come is known where nothing but their results is."""

from __future__ import annotations

from pathlib import Path

from tests.isolation.conftest import session


def test_each_test_is_counted_once_whoever_ran_it(toy_folder: Path, tmp_path: Path) -> None:
    of_run = ("-p", "conformance.cli.suites_of_run", "--tb=no", "-rN", "test_toy.py")
    crashing = "segmentation-fault@segmentation-fault"
    outcome = session(toy_folder, tmp_path / "run.jsonl", *of_run, HOSTILE=crashing)
    total = len(outcome.verdicts)
    lines = [line for line in outcome.output.splitlines() if " tests (" in line]
    assert lines[-1] == f"{total} of {total} tests (100%), 1 crash"
    assert outcome.output.rstrip().splitlines()[-1] == outcome.record.claim.line


def test_durations_are_those_of_each_test(toy_folder: Path, tmp_path: Path) -> None:
    outcome = session(toy_folder, tmp_path / "run.jsonl", "--durations=0", "-vv", "--tb=no", "-rN", "test_toy.py")
    timed = [line.split()[-1] for line in outcome.output.splitlines() if "s call " in line]
    assert len(timed) == len(set(timed)) == len(outcome.verdicts)
