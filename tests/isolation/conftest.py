"""Sessions over the hostile backend and over the toy, each in a process of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from conformance.records.record import Record, read_record

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # As under a shell that runs the tests in the background: all sessions that these tests start would ignore it too.
    signal.signal(signal.SIGINT, signal.default_int_handler)

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@dataclass(frozen=True)
class Outcome:
    """What a session came to."""

    status: int
    output: str
    path: Path

    @property
    def record(self) -> Record:
        return read_record(self.path)

    @property
    def verdicts(self) -> dict[str, str]:
        return {result.test: result.verdict.value for result in self.record.results}


def command(words: Sequence[str], *, limit_kib: int | None = None) -> list[str]:
    """How to start a session; over the toy, unless `words` say otherwise; no process may use more than `limit_kib`."""
    run = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-c", "pytest.ini", "--rootdir=."]
    run += ["--import-mode=importlib", "--tb=short", *words]
    if not any(word.startswith("--impl") for word in words):
        run.append("--impl=toy.py:adapter")
    return run if limit_kib is None else ["bash", "-c", f'ulimit -v {limit_kib}; exec "$0" "$@"', *run]


def environment(**variables: str) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "HOSTILE"))}
    return {**inherited, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **variables}


def folder_of(folder: Path, **files: str) -> Path:
    """`files` in a folder of their own, under names that pytest knows and the project's own sessions must not meet."""
    folder.mkdir()
    for name, source in {"conftest": "hostile/kit", "behaviours": "hostile/behaviours", **files}.items():
        shutil.copy(HERE / f"{source}.py", folder / f"{name}.py")
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -ra\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def hostile_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reference with all its misbehaviours, and their suite."""
    return folder_of(
        tmp_path_factory.mktemp("hostile") / "suite",
        backend="hostile/backend",
        aborts_at_import="hostile/aborts_at_import",
        test_behaviour="hostile/behaviour_suite",
    )


@pytest.fixture(scope="session")
def toy_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy, which starts fast, and its suite."""
    return folder_of(tmp_path_factory.mktemp("toy") / "suite", toy="toy/toy", test_toy="toy/toy_suite")


def session(folder: Path, record: Path, *words: str, limit_kib: int | None = None, **variables: str) -> Outcome:
    """Run one session to its end."""
    process = subprocess.run(
        command([f"--record={record}", *words], limit_kib=limit_kib),
        cwd=folder,
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return Outcome(process.returncode, process.stdout + process.stderr, record)
