"""How a session uses its workers: what they may be given, how they start, and what only they do."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from conformance.records.verdicts import Verdict
from tests.isolation.conftest import session


@pytest.mark.parametrize("workers", [1, 2])
def test_destructive_tests_run_alone_and_last_in_a_worker_that_nothing_has_harmed(
    toy_folder: Path, tmp_path: Path, workers: int
) -> None:
    only = "calm or abort"
    outcome = session(toy_folder, tmp_path / "run.jsonl", f"-n{workers}", "-k", only, HOSTILE="1")
    results = outcome.record.results
    deadly = [result for result in results if "test_deadly" in result.test]
    assert list(results[-4:]) == deadly
    assert [result.verdict.value for result in deadly] == ["pass", "crash", "pass", "pass"]
    observations = [result.observations for result in results if result.verdict.value == "pass"]
    processes = [entry["process"] for entry in observations]
    # The crash ended the first one's worker; what passed hands its worker on.
    first, third, fourth = processes[-3:]
    assert first != third == fourth
    assert not set(processes[-3:]) & set(processes[:-3])
    # Nothing ran while one of them did.
    times = sorted(tuple(entry["time"]) for entry in observations[-3:])
    assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(times))
    assert max(entry["time"][1] for entry in observations[:-3]) <= times[0][0]


def test_an_ordinary_worker_is_used_again(toy_folder: Path, tmp_path: Path) -> None:
    outcome = session(toy_folder, tmp_path / "run.jsonl", "-k", "test_it")
    assert outcome.status == 0, outcome.output
    assert len({result.observations["process"] for result in outcome.record.results}) == 1


def test_a_process_for_each_test(toy_folder: Path, tmp_path: Path) -> None:
    outcome = session(toy_folder, tmp_path / "run.jsonl", "--isolate=test", "-k", "test_it and not hang")
    assert outcome.status == 0, outcome.output
    assert len({result.observations["process"] for result in outcome.record.results}) == 4


@pytest.mark.parametrize(
    ("start", "words"),
    [
        ("abort", "was ended by SIGABRT"),
        ("exit", "ended with exit status 0"),
        ("hang", "took more than 1 s to start"),
    ],
)
def test_a_worker_that_cannot_start_ends_the_run(toy_folder: Path, tmp_path: Path, start: str, words: str) -> None:
    limit = "--start-timeout=1" if start == "hang" else "--start-timeout=30"
    outcome = session(toy_folder, tmp_path / "run.jsonl", limit, HOSTILE_START=start)
    assert outcome.status == 3
    assert "STOPPED: a worker could not be started 3 times in a row" in outcome.output
    assert words in outcome.output
    footer = outcome.record.footer
    assert footer is not None
    assert footer.stopped is not None
    assert words in footer.stopped
    assert (footer.verdict, footer.complete) == ("error", False)
    assert outcome.record.assessment.verdict.value == "error"


@pytest.mark.parametrize("start", ["constructor", "destructor"])
def test_a_class_that_ends_the_process_of_every_instance_is_charged_with_it(
    toy_folder: Path, tmp_path: Path, start: str
) -> None:
    words = ("-k", "test_it and (calm-1 or calm-2)", "--start-timeout=60")
    outcome = session(toy_folder, tmp_path / "run.jsonl", *words, HOSTILE_START=start)
    assert outcome.status == 1, outcome.output
    assert "STOPPED" not in outcome.output
    assert set(outcome.verdicts.values()) == {"crash"}
    assert outcome.record.complete
    assert all("was ended by SIGABRT" in result.message for result in outcome.record.results)


def test_a_refusal_in_a_worker_is_the_sessions(toy_folder: Path, tmp_path: Path) -> None:
    outcome = session(toy_folder, tmp_path / "run.jsonl", "--impl=toy.py:Nothing", PYTHONWARNINGS="default")
    assert outcome.status == 4
    assert "ERROR: conformance: --impl=toy.py:Nothing: toy.py has no attribute 'Nothing'" in outcome.output
    # Its process was waited for.
    assert "is still running" not in outcome.output


def test_the_parent_imports_no_backend_and_no_torch(hostile_folder: Path, tmp_path: Path) -> None:
    (hostile_folder / "looks.py").write_text(
        "import sys\n"
        "def pytest_sessionfinish(session):\n"
        "    where = 'worker' if hasattr(session.config, 'workerinput') else 'parent'\n"
        "    with open('imported.txt', 'a') as file:\n"
        "        print(where, sorted({'torch', 'backend', 'reference_impl'} & set(sys.modules)), file=file)\n",
        encoding="utf-8",
    )
    words = ("--impl=backend.py:adapter", "-p", "looks", "-k", "calm-after-kill")
    outcome = session(hostile_folder, tmp_path / "run.jsonl", *words)
    assert outcome.status == 0, outcome.output
    assert (hostile_folder / "imported.txt").read_text(encoding="utf-8").splitlines() == [
        "worker ['reference_impl', 'torch']",
        "parent []",
    ]


def test_the_debugger_needs_this_process(toy_folder: Path, tmp_path: Path) -> None:
    outcome = session(toy_folder, tmp_path / "run.jsonl", "--pdb")
    assert outcome.status == 4
    assert "--pdb needs the tests in this process: add --no-isolate" in outcome.output


def test_stopping_at_the_first_failure(toy_folder: Path, tmp_path: Path) -> None:
    outcome = session(toy_folder, tmp_path / "run.jsonl", "-x", HOSTILE="1")
    assert outcome.verdicts == {
        "test_toy.py::test_it[calm-1]": "pass",
        "test_toy.py::test_it[segmentation-fault]": "crash",
    }
    assert not outcome.record.complete
    assert outcome.status == 1


@pytest.mark.parametrize("workers", [1, 2])
def test_a_crash_that_stops_the_run_comes_with_its_script(hostile_folder: Path, tmp_path: Path, workers: int) -> None:
    words = ("--impl=backend.py:adapter", "-x", f"-n{workers}", "-k", "test_it and segmentation-fault")
    outcome = session(hostile_folder, tmp_path / "run.jsonl", *words, HOSTILE="1")
    (crash,) = (result for result in outcome.record.results if result.verdict is not Verdict.PASS)
    assert crash.verdict is Verdict.CRASH
    assert crash.reproducer is not None, outcome.output
    assert crash.message in crash.reproducer
    assert len(outcome.record.results) <= workers
