"""Scripts fail where the test failed, without the kit, and pass where nothing is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from conformance.records.record import Record, read_record
from tests.forks import sessions

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


#: Sessions, by name: the implementation, its tests and further words.  All run once, from one process.
SESSIONS = {
    **{broken: (broken, *selected) for broken, selected in BROKEN.items()},
    "passing": ("reference", "suites/replay/test_streams.py"),
    "seeded": ("reference", f"{LIFECYCLE}::test_hooks", "--explore=7"),
    "drawn": ("reference", f"{LIFECYCLE}::test_hooks", "--explore"),
}
#: What is compared between two processes that order their sets differently.
HASHED = {
    "record": (
        "reference.asynchronous",
        f"{LIFECYCLE}::test_results",
        f"{LIFECYCLE}::test_hooks",
        "suites/random_programs/test_programs.py::test_fork_join",
        "suites/replay/test_random.py",
        "suites/pools/test_tokens.py",
    ),
    "rejection": (REPLAYS_TWICE, f"{LIFECYCLE}::test_results"),
}


@dataclass(frozen=True)
class Written:
    """The record of a session, and the scripts of its failures."""

    record: Record
    scripts: list[Path]


def run(folder: Path, chosen: Mapping[str, Sequence[str]], **environment: str) -> dict[str, Written]:
    """Run the `chosen` sessions."""
    folders = [folder / str(number) for number in range(len(chosen))]
    commands = [
        [
            *("-q", "--tb=no", "--no-isolate", "-p", "no:cacheprovider", f"--impl={implementation}", *words),
            *(f"--record={own / 'record.jsonl'}", f"--reproducers={own / 'scripts'}"),
        ]
        for own, (implementation, *words) in zip(folders, chosen.values(), strict=True)
    ]
    for ended in sessions(commands, folder, **environment):
        assert ended.status in (0, 1), ended.output
    return {
        name: Written(read_record(own / "record.jsonl"), sorted((own / "scripts").glob("*.py")))
        for name, own in zip(chosen, folders, strict=True)
    }


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Written]:
    return run(tmp_path_factory.mktemp("sessions"), SESSIONS)


@pytest.fixture(scope="module")
def hashed(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Written]]:
    folder = tmp_path_factory.mktemp("hashed")
    return [run(folder / seed, HASHED, PYTHONHASHSEED=seed) for seed in ("1", "2")]


def last_of_each_file(broken: Written) -> list[Path]:
    """Of each file of tests the last script; all of them would take minutes."""
    return list({script.name.partition("-py-test-")[0]: script for script in broken.scripts}.values())


@pytest.fixture(scope="module")
def endings(written: dict[str, Written]) -> dict[Path, tuple[int, str]]:
    """How scripts end, over the broken class and, called ``repaired-…``, over the reference."""
    scripts = []
    for broken in BROKEN:
        name = broken.rpartition(":")[2]
        for script in last_of_each_file(written[broken]):
            text = script.read_text(encoding="utf-8")
            right = text.replace(f"Graph = _module.{name}", "Graph = reference_impl.CUDAGraph")
            repaired = script.with_name(f"repaired-{script.name}")
            repaired.write_text(right, encoding="utf-8")
            scripts += [script, repaired]
    return dict(zip(scripts, alone(scripts), strict=True))


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.rpartition(":")[2])
def test_fails_with_the_fault_and_passes_without(
    broken: str, written: dict[str, Written], endings: dict[Path, tuple[int, str]]
) -> None:
    rejecting = [result for result in written[broken].record.results if result.verdict.rejects]
    assert rejecting
    assert all(result.reproducer for result in rejecting)
    assert len(written[broken].scripts) == len(rejecting)
    for script in last_of_each_file(written[broken]):
        status, errors = endings[script]
        assert status != 0, script.name
        assert "no kit here" not in errors, errors
        assert "Error" in errors
        status, errors = endings[script.with_name(f"repaired-{script.name}")]
        assert status == 0, f"{script.name}\n{errors}"


def test_states_the_requirement(written: dict[str, Written]) -> None:
    record = written[REPLAYS_TWICE].record
    result = next(result for result in record.results if result.verdict.rejects)
    requirements = {entry.id: entry for entry in record.header.requirements}
    assert result.reproducer is not None
    for identity in result.requirements:
        assert identity in result.reproducer
        assert requirements[identity].documents[0] in result.reproducer


def test_passing_tests_have_none(written: dict[str, Written]) -> None:
    assert all(result.reproducer is None for result in written["passing"].record.results)
    assert written["passing"].scripts == []


def test_same_record_whatever_the_hash_seed(hashed: list[dict[str, Written]]) -> None:
    first, second = (of_seed["record"].record for of_seed in hashed)
    assert [untimed(result.to_dict()) for result in first.results] == [
        untimed(result.to_dict()) for result in second.results
    ]


def test_same_rejection_whatever_the_hash_seed(hashed: list[dict[str, Written]]) -> None:
    first, second = (of_seed["rejection"].record for of_seed in hashed)
    scripts = [result.reproducer for result in first.results]
    assert scripts == [result.reproducer for result in second.results]
    assert all(scripts)


def test_exploring_records_its_seed(written: dict[str, Written]) -> None:
    record = written["seeded"].record
    assert record.header.options["explore"] == "7"
    assert all("--explore=7" in result.command for result in record.results)
    assert str(written["drawn"].record.header.options["explore"]).isdecimal()


def untimed(result: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in result.items() if name != "duration_s"}
