"""A class that costs one worker after the other: forks take their place, and everything else is as without them."""

from __future__ import annotations

import mmap
import os
import shutil
import signal
import subprocess
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.isolation.footprint import Footprint
from conformance.isolation.zygote import seen_from_outside
from conformance.records.record import Record
from tests.isolation.conftest import command, environment, session

SUITE = """
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conformance.markers import requirement

LAST = 12

def _is_zygote(pid):
    return b"zygote_process" in Path(f"/proc/{pid}/cmdline").read_bytes()

def _forked_sleeper():
    read, write = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.write(write, str(os.getpid()).encode())
            time.sleep(4321)
        os._exit(0)
    os.wait()
    return int(os.read(read, 20))

@requirement("hostile.behaves")
@pytest.mark.parametrize("number", range(LAST + 1))
def test_it(impl, observe, number, tmp_path, request):
    observe("spare", request.config.workerinput["conformance"]["spare"])
    observe("process", os.getpid())
    observe("forked", _is_zygote(os.getpid()))
    observe("folder", str(tmp_path))
    observe("mark", os.environ["GRAPH_CONFORMANCE_WORKER"])
    if number == LAST:
        for pid in (_forked_sleeper(), subprocess.Popen(["sleep", "4321"], start_new_session=True).pid):
            with open("sleepers.txt", "a") as file:
                print(pid, file=file)
        return
    what = os.environ["LOSS"]
    if what == "zygote" and _is_zygote(os.getpid()):
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(10)
    if what == "hang" and number > 2:
        time.sleep(4321)
    if number % 3:
        os._exit(7) if number % 2 else os.abort()
"""

#: At the end of the toy's module: a thread that no library ends before a fork.
THREAD = "\nimport threading, time\nthreading.Thread(target=time.sleep, args=(4321,), daemon=True).start()\n"

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="only Linux says what a process has")


@pytest.fixture
def folder(toy_folder: Path, tmp_path: Path) -> Path:
    """A suite in which two tests of three end their process."""
    suite = tmp_path / "suite"
    shutil.copytree(toy_folder, suite)
    (suite / "test_toy.py").unlink()
    (suite / "test_losses.py").write_text(SUITE, encoding="utf-8")
    return suite


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _command_line(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it is gone
        return b""


def _marked(folder: Path) -> list[str]:
    """The processes that began with a folder of a worker's in `folder`."""
    found = []
    for file in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"GRAPH_CONFORMANCE_WORKER={folder}".encode() in file.read_bytes() and _lives(int(file.parent.name)):
                found.append(file.parent.name)
        except OSError:
            continue
    return found


def _by_number(record: Record) -> list[str]:
    results = sorted(record.results, key=lambda result: int(result.test.partition("[")[2].rstrip("]")))
    return [result.verdict.value for result in results]


def _forked(record: Record) -> list[bool]:
    return [result.observations["forked"] for result in record.results if result.observations]


LOST = ["pass" if number % 3 == 0 else "crash" for number in range(13)]


def test_forks_take_the_place_of_lost_workers(folder: Path, tmp_path: Path) -> None:
    outcome = session(folder, tmp_path / "run.jsonl", LOSS="crash", TMPDIR=str(tmp_path))
    assert _by_number(outcome.record) == LOST, outcome.output
    assert outcome.record.complete
    observations = [result.observations for result in outcome.record.results if result.observations]
    # The first worker is a fresh interpreter; so is the first in its place, while the zygote starts.
    forked = _forked(outcome.record)
    assert (forked[0], forked[-1]) == (False, True)
    # While one works, the next one is forked.
    assert any(entry["forked"] and entry["spare"] for entry in observations)
    for name in ("process", "folder", "mark"):
        assert len({entry[name] for entry in observations}) == len(observations)
    lost = [result for result in outcome.record.results if result.verdict.value == "crash"]
    assert {result.message for result in lost} == {
        "its process ended with exit status 7",
        "its process was ended by SIGABRT",
    }
    assert all(result.phase == "call" for result in lost)


def test_nothing_of_them_is_left(folder: Path, tmp_path: Path) -> None:
    outcome = session(folder, tmp_path / "run.jsonl", "-n2", LOSS="crash", TMPDIR=str(tmp_path))
    assert _by_number(outcome.record) == LOST, outcome.output
    sleepers = [int(line) for line in (folder / "sleepers.txt").read_text(encoding="ascii").split()]
    assert [pid for pid in sleepers if _lives(pid)] == []
    assert _marked(tmp_path) == []
    assert list(tmp_path.glob("graph-conformance-*")) == []


def test_a_class_whose_import_starts_a_thread_is_never_forked(folder: Path, tmp_path: Path) -> None:
    with (folder / "toy.py").open("a", encoding="utf-8") as file:
        file.write(THREAD)
    outcome = session(folder, tmp_path / "run.jsonl", LOSS="crash", TMPDIR=str(tmp_path))
    assert _by_number(outcome.record) == LOST, outcome.output
    assert set(_forked(outcome.record)) == {False}
    # Instead, a spare worker is ready for the place of the next one that is lost.
    assert [result.observations["spare"] for result in outcome.record.results if result.observations][-1] is True
    assert _marked(tmp_path) == []


def test_a_worker_for_each_test_is_a_spare_one(folder: Path, tmp_path: Path) -> None:
    words = ("--isolate=test", "-k", "test_it[toy-0] or test_it[toy-3] or test_it[toy-6]")
    outcome = session(folder, tmp_path / "run.jsonl", *words, LOSS="crash", TMPDIR=str(tmp_path))
    assert outcome.status == 0, outcome.output
    observations = [result.observations for result in outcome.record.results]
    assert [entry["spare"] for entry in observations] == [False, False, True]
    assert len({entry["process"] for entry in observations}) == 3
    assert _marked(tmp_path) == []


def test_a_run_survives_the_end_of_its_zygote(folder: Path, tmp_path: Path) -> None:
    outcome = session(folder, tmp_path / "run.jsonl", LOSS="zygote", TMPDIR=str(tmp_path))
    assert outcome.record.complete, outcome.output
    verdicts = _by_number(outcome.record)
    # One more test than without: the one that ended the zygote, and itself with it.
    assert verdicts[-1] == "pass"
    assert verdicts.count("crash") - LOST.count("crash") in {0, 1}
    ended = [result for result in outcome.record.results if "SIGKILL" in result.message]
    assert len(ended) == 1
    assert _forked(outcome.record)[-1] is False


@pytest.mark.parametrize("name", ["SIGINT", "SIGKILL"])
def test_forks_end_with_the_run(folder: Path, tmp_path: Path, name: str) -> None:
    words = [f"--record={tmp_path / 'run.jsonl'}"]
    quiet = subprocess.DEVNULL
    variables = environment(LOSS="hang", TMPDIR=str(tmp_path))
    parent = subprocess.Popen(
        command([*words, "--test-timeout=3"]), cwd=folder, env=variables, stdout=quiet, stderr=quiet
    )
    until, looks = time.monotonic() + 60, 0
    while time.monotonic() < until and looks < 5:
        time.sleep(0.05)
        # One that the zygote makes before its first worker is gone at the next look.
        looks = looks + 1 if _has_fork(tmp_path) else 0
    assert looks == 5
    parent.send_signal(getattr(signal, name))
    parent.wait(30)
    until = time.monotonic() + 10
    while time.monotonic() < until and _marked(tmp_path):
        time.sleep(0.05)
    assert _marked(tmp_path) == []


def _has_fork(folder: Path) -> bool:
    zygotes = [pid for pid in _marked(folder) if b"zygote_process" in _command_line(pid)]
    return len(zygotes) > 1


@pytest.mark.parametrize(("end", "code"), [("exit 7", 7), ("kill -9 $$", -9)])
def test_a_fork_is_seen_without_its_zygote(end: str, code: int) -> None:
    process = subprocess.Popen(["/bin/sh", "-c", f"read line; {end}"], stdin=subprocess.PIPE)
    assert seen_from_outside(process.pid) == (False, None)
    assert process.stdin is not None
    process.stdin.close()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert seen_from_outside(process.pid) == (True, code)
    process.wait()
    assert seen_from_outside(process.pid) == (True, None)


def _with_one_thread(footprint: Footprint) -> Footprint:
    return replace(footprint, threads=1)


def test_a_footprint_that_has_not_grown_says_nothing() -> None:
    before = Footprint.now()
    with Path(os.devnull).open("rb"):
        assert before.growth(_with_one_thread(Footprint.now())) is None


def test_a_footprint_sees_an_open_file(tmp_path: Path) -> None:
    before, file = Footprint.now(), tmp_path / "device"
    with file.open("w", encoding="ascii"):
        assert before.growth(_with_one_thread(Footprint.now())) == f"{file} is open"


def test_a_footprint_sees_shared_memory() -> None:
    before = Footprint.now()
    with mmap.mmap(-1, 4096):
        assert before.growth(_with_one_thread(Footprint.now())) == "memory is shared with others"


def test_a_footprint_sees_a_process() -> None:
    before = Footprint.now()
    sleeper = subprocess.Popen(["/bin/sleep", "4321"])
    try:
        assert before.growth(_with_one_thread(Footprint.now())) == "a process was started"
    finally:
        sleeper.kill()
        sleeper.wait()


def test_a_footprint_sees_a_thread() -> None:
    before, stop = Footprint.now(), threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        assert before.growth(Footprint.now()) == f"{before.threads + 1} threads run"
    finally:
        stop.set()
        thread.join()
