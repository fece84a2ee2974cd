"""Scripts fail where the test failed, without the kit, and pass where nothing is wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from conformance.records.record import Record, read_record

ROOT = Path(__file__).parents[2]

#: Runs scripts where nothing but the reference can be imported of this project, each in a fork of its own: importing
#: torch takes longer than they do.  Prints for each its exit status, and what it said.
ALONE = """
import importlib.abc, json, os, runpy, sys, tempfile

class NoKit(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("conformance", "suites", "reports"):
            raise ImportError("no kit here: " + name)

sys.meta_path.insert(0, NoKit())
sys.path.insert(0, ".")
import reference_impl

endings = []
for script in sys.argv[1:]:
    with tempfile.TemporaryFile("w+") as errors:
        pid = os.fork()
        if pid == 0:
            os.dup2(errors.fileno(), 2)
            try:
                runpy.run_path(script, run_name="__main__")
            except BaseException:
                sys.excepthook(*sys.exc_info())
                sys.stderr.flush()
                os._exit(1)
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        errors.seek(0)
        endings.append((status, errors.read()))
print(json.dumps(endings))
"""

#: A broken class in a file, and the suites that reject it: ordinary tests, sequences of calls and programs.
LIFECYCLE = "suites/lifecycle/test_lifecycle.py"
REPLAYS_TWICE = "reference_impl/faults/states.py:ReplaysTwice"
BROKEN = {
    REPLAYS_TWICE: ("suites/replay/test_streams.py", f"{LIFECYCLE}::test_results"),
    "reference_impl/faults/states.py:ForgetsTheLastNode": (
        "suites/capture/test_views.py",
        "suites/random_programs/test_programs.py::test_fork_join",
    ),
    "reference_impl/faults/states.py:InstantiatesNothingSilently": (
        "suites/misuse/test_nothing_held.py",
        f"{LIFECYCLE}::test_refusals",
    ),
    "tests/reproducing/new_tokens.py:NewTokenAtEveryCall": ("suites/pools/test_tokens.py",),
    "reference_impl/faults/lifetimes.py:HidesASpoiledCapture": (
        "suites/failed_capture/test_reported.py",
        "suites/random_programs/test_spoiled.py::test_spoiled",
    ),
}


def alone(scripts: Sequence[Path]) -> list[tuple[int, str]]:
    """How each of the scripts ends: its exit status, and what it wrote of errors."""
    process = subprocess.run(
        [sys.executable, "-I", "-c", ALONE, *map(str, scripts)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    return [(status, errors) for status, errors in json.loads(process.stdout.splitlines()[-1])]


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.rpartition(":")[2])
def test_fails_with_the_fault_and_passes_without(broken: str, tmp_path: Path) -> None:
    record = conformance(broken, tmp_path, *BROKEN[broken])
    rejecting = [result for result in record.results if result.verdict.rejects]
    scripts = sorted((tmp_path / "scripts").glob("*.py"))
    assert rejecting
    assert all(result.reproducer for result in rejecting)
    assert len(scripts) == len(rejecting)
    # Of each file of tests the last; all of them would take minutes.
    name = broken.rpartition(":")[2]
    last = list({script.name.partition("-py-test-")[0]: script for script in scripts}.values())
    repaired = [tmp_path / f"repaired-{script.name}" for script in last]
    for script, right in zip(last, repaired, strict=True):
        text = script.read_text(encoding="utf-8")
        right.write_text(text.replace(f"Graph = _module.{name}", "Graph = reference_impl.CUDAGraph"), encoding="utf-8")
    endings = alone([*last, *repaired])
    for script, (status, errors) in zip(last, endings, strict=False):
        assert status != 0, script.name
        assert "no kit here" not in errors, errors
        assert "Error" in errors
    for script, (status, errors) in zip(last, endings[len(last) :], strict=True):
        assert status == 0, f"{script.name}\n{errors}"


def test_states_the_requirement(tmp_path: Path) -> None:
    record = conformance(REPLAYS_TWICE, tmp_path, "suites/replay/test_streams.py::test_consecutive_replays")
    result = next(result for result in record.results if result.verdict.rejects)
    requirements = {entry.id: entry for entry in record.header.requirements}
    assert result.reproducer is not None
    for identity in result.requirements:
        assert identity in result.reproducer
        assert requirements[identity].documents[0] in result.reproducer


def test_passing_tests_have_none(tmp_path: Path) -> None:
    record = conformance("reference", tmp_path, "suites/replay/test_streams.py")
    assert all(result.reproducer is None for result in record.results)
    assert not (tmp_path / "scripts").exists()


def test_same_record_whatever_the_hash_seed(tmp_path: Path) -> None:
    selection = (
        f"{LIFECYCLE}::test_results",
        f"{LIFECYCLE}::test_hooks",
        "suites/random_programs/test_programs.py::test_fork_join",
        "suites/replay/test_random.py",
        "suites/pools/test_tokens.py",
    )
    first, second = (
        conformance("reference.asynchronous", tmp_path / seed, *selection, PYTHONHASHSEED=seed) for seed in ("1", "2")
    )
    assert [untimed(result.to_dict()) for result in first.results] == [
        untimed(result.to_dict()) for result in second.results
    ]


def test_same_rejection_whatever_the_hash_seed(tmp_path: Path) -> None:
    first, second = (
        conformance(REPLAYS_TWICE, tmp_path / seed, f"{LIFECYCLE}::test_results", PYTHONHASHSEED=seed)
        for seed in ("1", "2")
    )
    assert [result.reproducer for result in first.results] == [result.reproducer for result in second.results]


def test_exploring_records_its_seed(tmp_path: Path) -> None:
    record = conformance("reference", tmp_path, f"{LIFECYCLE}::test_hooks", "--explore=7")
    assert record.header.options["explore"] == "7"
    assert all("--explore=7" in result.command for result in record.results)
    drawn = conformance("reference", tmp_path / "drawn", f"{LIFECYCLE}::test_hooks", "--explore")
    assert str(drawn.header.options["explore"]).isdecimal()


def conformance(implementation: str, folder: Path, *arguments: str, **environment: str) -> Record:
    folder.mkdir(parents=True, exist_ok=True)
    record = folder / "record.jsonl"
    command = [
        *(sys.executable, "-m", "pytest", "-q", "--tb=no", "--no-isolate", "-p", "no:cacheprovider"),
        *(f"--impl={implementation}", f"--record={record}", f"--reproducers={folder / 'scripts'}", *arguments),
    ]
    process = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert process.returncode in (0, 1), process.stdout[-2000:] + process.stderr[-2000:]
    return read_record(record)


def untimed(result: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in result.items() if name != "duration_s"}
