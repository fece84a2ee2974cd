"""Tests that failed run again, wherever they run; what they come to is never the best of their runs."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from conformance.records.merge import merge
from conformance.records.record import read_record
from tests.isolation.conftest import Outcome, command, environment, folder_of, session

#: Runs that end or hang their process: crash, hang, and all in turn.
LOST = "cpp ccc fcf hpp"
#: By the names of the tests, what they come to, and how often.
EXPECTED = {
    "p": ("pass", None),
    "fff": ("fail", {"fail": 3}),
    "fpp": ("flaky", {"pass": 2, "fail": 1}),
    "ffp": ("flaky", {"pass": 1, "fail": 2}),
    "fpp-deadly": ("flaky", {"pass": 2, "fail": 1}),
}
EXPECTED_LOST = {
    "cpp": ("flaky", {"pass": 2, "crash": 1}),
    "ccc": ("crash", {"crash": 3}),
    "fcf": ("crash", {"fail": 2, "crash": 1}),
    "hpp": ("flaky", {"pass": 2, "timeout": 1}),
}


def _folder(path: Path) -> Path:
    return folder_of(path / "suite", toy="toy/toy", test_it="toy/unsteady_suite")


def _came_to(outcome: Outcome) -> dict[str, tuple[str, dict[str, int] | None]]:
    return {
        result.test.partition("[")[2].removesuffix("]"): (
            result.verdict.value,
            None if result.runs is None else dict(result.runs),
        )
        for result in outcome.record.results
    }


def _lines(path: Path, kind: str) -> list[dict[str, Any]]:
    lines = path.read_text(encoding="utf-8").rpartition("\n")[0].splitlines()  # a killed run may leave half a line
    return [values for values in map(json.loads, lines) if values["kind"] == kind]


@pytest.fixture(scope="module")
def lost(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """A session in which some runs end or hang their process."""
    path = tmp_path_factory.mktemp("lost")
    return session(_folder(path), path / "run.jsonl", "--reruns=2", "--test-timeout=3", "--isolate", UNSTEADY=LOST)


def _check(outcome: Outcome, expected: dict[str, tuple[str, dict[str, int] | None]]) -> None:
    assert outcome.status == 1, outcome.output
    assert _came_to(outcome) == expected
    record = outcome.record
    assert record.complete
    assert not record.defects
    assert record.header.options["reruns"] == 2
    # Each began once, whatever followed; a line says what came of each run but the last.
    assert len(record.started) == len({*record.started}) == len(record.results)
    attempts = [line["test"] for line in _lines(outcome.path, "attempt")]
    assert len(attempts) == 2 * sum(result.runs is not None for result in record.results)
    assert "\nDOES NOT CONFORM: toy as cuda 2.13: 0 of 2 musts met, 2 not met" in outcome.output


def test_each_run_counts_also_one_that_its_process_did_not_survive(lost: Outcome) -> None:
    _check(lost, EXPECTED | EXPECTED_LOST)


@pytest.mark.parametrize("mode", [("--no-isolate",), ("-n2",), ("--isolate=test", "--maxfail=9")], ids=" ".join)
def test_each_run_counts_wherever_it_is(tmp_path: Path, mode: tuple[str, ...]) -> None:
    _check(session(_folder(tmp_path), tmp_path / "run.jsonl", "--reruns=2", *mode), EXPECTED)


def test_the_evidence_of_the_failing_run_is_kept(lost: Outcome) -> None:
    results = {result.test: result for result in lost.record.results}
    flaky, crash = results["test_it.py::test_it[fpp]"], results["test_it.py::test_it[cpp]"]
    assert flaky.message.startswith("failed 1 of 3 times: ")
    assert "it fails as f" in flaky.message
    assert crash.message.startswith("failed 1 of 3 times (2 pass, 1 crash): its process was ended by SIGABRT")
    assert crash.ending is not None
    assert crash.ending["signal"] == "SIGABRT"
    assert crash.phase == "call"
    assert "AssertionError: it fails as f" in lost.output  # pytest's own account of the run that failed
    # A run that died weighs as much as ever: it is a hazard wherever it decides no must.
    assert lost.record.outcomes.losses == {("hostile.behaves",): 4}


def test_without_the_option_nothing_runs_again(tmp_path: Path) -> None:
    outcome = session(_folder(tmp_path), tmp_path / "run.jsonl", "--isolate", "--reruns=0")
    assert {verdict for verdict, _ in _came_to(outcome).values()} == {"pass", "fail"}
    assert not _lines(outcome.path, "attempt")
    assert "reruns" not in outcome.record.header.options


def test_a_kill_hides_no_failure_that_was_seen(tmp_path: Path) -> None:
    """A test that failed before the kill and passes after it is flaky, also in the run that goes on."""
    folder, path = _folder(tmp_path), tmp_path / "run.jsonl"
    words = ["--reruns=1", "--test-timeout=600", "--isolate"]
    steady = environment(UNSTEADY="fp hp")  # the last one hangs at first, and nobody waits for it
    quiet = subprocess.DEVNULL
    parent = subprocess.Popen(command([f"--record={path}", *words]), cwd=folder, env=steady, stdout=quiet, stderr=quiet)
    until = time.monotonic() + 120
    while time.monotonic() < until and not (folder / "runs-of-hp").exists():
        time.sleep(0.01)
    parent.send_signal(signal.SIGKILL)
    parent.wait(60)
    assert {line["test"] for line in _lines(path, "attempt")} >= {"test_it.py::test_it[fp]"}
    assert not _lines(path, "footer")
    resumed = subprocess.run(
        command([f"--resume={path}", *words]),
        cwd=folder,
        env=steady,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    outcome = Outcome(resumed.returncode, resumed.stdout + resumed.stderr, path)
    came_to = _came_to(outcome)
    assert came_to["fp"] == ("flaky", {"pass": 1, "fail": 1}), outcome.output
    assert came_to["fpp"] == ("flaky", {"pass": 1, "fail": 1})
    assert outcome.record.complete
    assert not outcome.record.defects
    assert "failed 1 of 2 times: it fails as f" in outcome.output


def test_shards_keep_their_runs_and_make_one_record(tmp_path: Path) -> None:
    shards = [
        session(_folder(tmp_path / str(index)), tmp_path / f"{index}.jsonl", "--reruns=2", f"--shard={index}/2")
        for index in (1, 2)
        if not (tmp_path / str(index)).mkdir()
    ]
    merge([outcome.path for outcome in shards], tmp_path / "run.jsonl")
    merged = Outcome(1, "", tmp_path / "run.jsonl")
    assert _came_to(merged) == EXPECTED
    assert not merged.record.defects
    kept = sum(len(_lines(outcome.path, "attempt")) for outcome in shards)
    assert len(_lines(merged.path, "attempt")) == kept > 0


def test_another_number_of_reruns_is_another_run(tmp_path: Path) -> None:
    folder, path = _folder(tmp_path), tmp_path / "run.jsonl"
    session(folder, path, "--reruns=2", "--no-isolate")
    process = subprocess.run(
        command([f"--resume={path}", "--reruns=1", "--no-isolate"]),
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert process.returncode == 4
    assert "another option reruns: 2 and 1" in process.stdout + process.stderr
    assert read_record(path).complete
