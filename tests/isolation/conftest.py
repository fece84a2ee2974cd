"""Sessions over the hostile backend, each in a process of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from conformance.record import Record, read_record

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
HOSTILE = HERE / "hostile"


@dataclass(frozen=True)
class Done:
    """A session that has ended."""

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
    """How to start a session over the hostile backend, where no process may use more than `limit_kib`."""
    run = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-c", "pytest.ini", "--rootdir=."]
    run += ["--import-mode=importlib", "--tb=short", *words]
    if not any(word.startswith("--impl") for word in words):
        run.append("--impl=backend.py:adapter")
    return run if limit_kib is None else ["bash", "-c", f'ulimit -v {limit_kib}; exec "$0" "$@"', *run]


def environment(**variables: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "HOSTILE"))}
    return {**kept, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **variables}


@pytest.fixture(scope="session")
def hostile_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The hostile backend and its suite, in a folder of their own."""
    folder = tmp_path_factory.mktemp("hostile") / "suite"
    shutil.copytree(HOSTILE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    # Under names that pytest knows, which the project's own sessions must not meet.
    (folder / "kit.py").rename(folder / "conftest.py")
    (folder / "behaviour_suite.py").rename(folder / "test_behaviour.py")
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -ra\n", encoding="utf-8")
    return folder


def session(folder: Path, record: Path, *words: str, limit_kib: int | None = None, **variables: str) -> Done:
    """Run one session to its end."""
    done = subprocess.run(
        command([f"--record={record}", *words], limit_kib=limit_kib),
        cwd=folder,
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Done(done.returncode, done.stdout + done.stderr, record)
