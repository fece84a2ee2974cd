"""A class that is dead after a failed capture: what that breaks is charged to the test in which it failed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from conformance.records.record import read_record
from conformance.records.verdicts import Verdict
from tests.isolation.conftest import HERE, environment

#: One test fails a capture, and the others of its file would only meet what that left.
AREA = "suites/failed_capture/test_aftermath.py"


def run(path: Path, *words: str) -> tuple[int, str]:
    """The aftermaths of failed captures and some replays, which have none."""
    code = "import sys; from conformance.cli import main; sys.exit(main(sys.argv[1:]))"
    arguments = ["run", f"--impl={HERE / 'dead.py'}:Dead", f"--record={path}", *words]
    process = subprocess.run(
        [sys.executable, "-c", code, *arguments, AREA, "suites/replay/test_several_graphs.py"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return process.returncode, process.stdout + process.stderr


def test_in_workers_each_failure_is_its_own(tmp_path: Path) -> None:
    _, output = run(
        tmp_path / "run.jsonl", "--isolate", "-k", "replay_refused and (keep_graph or host-read) or two_graphs"
    )
    results = read_record(tmp_path / "run.jsonl").results
    failed = [result for result in results if result.verdict is Verdict.FAIL]
    assert failed, output
    # Each of them has made a capture fail; no other test notices.
    assert all(result.test.startswith(f"{AREA}::test_replay_refused") for result in failed)
    assert all("the driver is in an error state" in str(result.left_behind) for result in failed)
    assert {result.verdict for result in results if result not in failed} == {Verdict.PASS}
    assert len(results) > len(failed)


def test_in_one_process_nothing_is_blamed_on_the_others(tmp_path: Path) -> None:
    status, output = run(tmp_path / "run.jsonl", "--no-isolate")
    record = read_record(tmp_path / "run.jsonl")
    (failed,) = (result for result in record.results if result.verdict is not Verdict.PASS)
    assert failed == record.results[-1]
    assert failed.message.startswith(
        "left behind: capturing and replaying a small graph raised RuntimeError: the driver"
    )
    assert record.assessment.tests[Verdict.NOT_RUN] > 10
    assert status == 1
    assert f"no test ran after {failed.test}, which left this process unusable (capturing and replaying" in output
    assert "worker" not in output
