"""What a test starts does not outlive its worker, wherever it goes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from conformance.isolation import process_control
from tests.isolation.conftest import command, environment, session

SUITE = """
import os
import subprocess
import time

import pytest
from conformance.markers import requirement

def _note(observe, pid):
    observe("sleeper", pid)
    with open("sleepers.txt", "a") as file:
        print(pid, file=file)

def _in_a_session(observe):
    _note(observe, subprocess.Popen(["sleep", "4321"], start_new_session=True).pid)

def _forked(observe):
    read, write = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.write(write, str(os.getpid()).encode())
            time.sleep(4321)
        os._exit(0)
    _note(observe, int(os.read(read, 20)))
    os.wait()

def _in_the_group(observe):
    _note(observe, subprocess.Popen(["sleep", "4321"]).pid)

@requirement("hostile.behaves")
@pytest.mark.parametrize("end", ["well", "abort", "hang"])
@pytest.mark.parametrize("start", [_in_a_session, _forked, _in_the_group])
def test_it(impl, observe, start, end):
    start(observe)
    if end == "abort":
        os.abort()
    if end == "hang":
        time.sleep(4321)
"""


@pytest.fixture
def folder(toy_folder: Path, tmp_path: Path) -> Path:
    """A suite whose tests leave processes behind."""
    suite = tmp_path / "suite"
    shutil.copytree(toy_folder, suite)
    (suite / "test_toy.py").unlink()
    (suite / "test_leaves.py").write_text(SUITE, encoding="utf-8")
    return suite


def _sleepers(folder: Path) -> list[int]:
    file = folder / "sleepers.txt"
    return [int(line) for line in file.read_text(encoding="ascii").splitlines()] if file.exists() else []


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_no_process_outlives_its_worker(folder: Path, tmp_path: Path) -> None:
    outcome = session(folder, tmp_path / "run.jsonl", "--test-timeout=2", "-n2")
    assert sorted(outcome.verdicts.values()) == ["crash"] * 3 + ["pass"] * 3 + ["timeout"] * 3, outcome.output
    sleepers = _sleepers(folder)
    assert len(sleepers) == 9
    assert [pid for pid in sleepers if _lives(pid)] == []


def test_nor_a_run_that_is_interrupted(folder: Path, tmp_path: Path) -> None:
    words = [f"--record={tmp_path / 'run.jsonl'}", "-k", "hang"]
    quiet = subprocess.DEVNULL
    parent = subprocess.Popen(command(words), cwd=folder, env=environment(), stdout=quiet, stderr=quiet)
    until = time.monotonic() + 30
    while not _sleepers(folder) and time.monotonic() < until:
        time.sleep(0.02)
    parent.send_signal(signal.SIGINT)
    assert parent.wait(30) == 2
    (sleeper,) = _sleepers(folder)
    assert not _lives(sleeper)


def test_only_what_carries_the_mark_is_ended(tmp_path: Path) -> None:
    own, other = str(tmp_path / "own"), str(tmp_path / "own-and-more")
    sleepers = {}
    try:
        for folder in (own, other, None):
            process_control.set_mark(folder)
            sleepers[folder] = subprocess.Popen(["/bin/sleep", "4321"], start_new_session=True)
        process_control.end_marked(own)
        assert sleepers[own].wait(10) == -signal.SIGKILL
        assert [sleepers[folder].poll() for folder in (other, None)] == [None, None]
    finally:
        process_control.set_mark(None)
        for sleeper in sleepers.values():
            sleeper.kill()
            sleeper.wait()
    assert process_control.MARK not in os.environ
