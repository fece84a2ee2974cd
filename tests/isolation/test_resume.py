"""Nothing is lost when the parent is killed, and a resumed run comes to the same."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from conformance.records.record import Record
from conformance.records.result import TestResult
from conformance.records.resume import read_beginning
from tests.isolation.conftest import Outcome, command, environment, session

#: In each of the two modes, a third of them in each part of a run.  What a record that was cut off at any of its bytes
#: comes to is tried without killing anybody; ``KILLS=27 pytest tests/isolation/test_resume.py`` finds more.
KILLS = int(os.environ.get("KILLS", "3"))
#: Seconds that the last moments of a run take, and about two of its tests.
END_S = 0.2
TWO_TESTS_S = 0.05
TESTS = 30
RESULT = b'{"kind": "result"'

SLOW = """
import time

import pytest
from conformance.markers import requirement

@requirement("hostile.behaves")
@pytest.mark.parametrize("number", range(30))
def test_it(impl, number):
    time.sleep(0.02)
    assert number % 7
"""


@pytest.fixture(scope="module")
def folder(toy_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A suite that takes long enough to be killed in."""
    suite = tmp_path_factory.mktemp("slow") / "suite"
    shutil.copytree(toy_folder, suite)
    (suite / "test_toy.py").unlink()
    (suite / "test_slow.py").write_text(SLOW, encoding="utf-8")
    return suite


@pytest.fixture(scope="module")
def whole(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """A run without a disturbance."""
    return session(folder, tmp_path_factory.mktemp("whole") / "run.jsonl")


def _start(folder: Path, *words: str, **variables: str) -> subprocess.Popen[bytes]:
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command(words), cwd=folder, env=environment(**variables), stdout=quiet, stderr=quiet)


def _results(results: Iterable[TestResult]) -> dict[str, tuple[str, str]]:
    return {result.test: (result.verdict.value, result.message) for result in results}


def _same(one: Record, other: Record) -> None:
    assert _results(one.results) == _results(other.results)
    assert one.planned == other.planned
    assert one.assessment == other.assessment
    assert one.footer is not None
    assert other.footer is not None
    assert one.footer.counts == other.footer.counts
    assert (one.footer.verdict, one.footer.complete, one.footer.exit_status) == ("does_not_conform", True, 1)


@dataclass(frozen=True)
class Moment:
    """When to end a run, and how: `seconds` after it has `results` in its record, or after its start for none, and
    before it has more than `at_most`.
    """

    seconds: float
    results: int
    at_most: int
    signal: signal.Signals

    def of(self, parent: subprocess.Popen[bytes], path: Path) -> bool:
        """Wait for it; whether `parent` was still there."""
        while self.results and parent.poll() is None:
            if path.exists() and path.read_bytes().count(RESULT) >= self.results:
                break
            time.sleep(0.002)
        until = time.monotonic() + self.seconds
        while parent.poll() is None and time.monotonic() < until:
            time.sleep(0.001)
        return parent.poll() is None


def _moments(generator: random.Random, start: float) -> list[Moment]:
    """A third over the time until the first result, which is after `start` seconds, one among the tests, and one while
    the worker ends, the footer is written and the summary shown; each with either signal.
    """
    third = KILLS // 3
    early = [((number + generator.random()) / third * 0.8 * start, 0, 0) for number in range(third)]
    among = [(generator.uniform(0, TWO_TESTS_S), generator.randrange(1, TESTS - 4), TESTS - 1) for _ in range(third)]
    late = [(generator.uniform(0, END_S), TESTS, TESTS) for _ in range(KILLS - 2 * third)]
    signals = itertools.cycle((signal.SIGKILL, signal.SIGINT, signal.SIGKILL, signal.SIGINT, signal.SIGINT))
    return [Moment(*when, name) for when, name in zip([*early, *among, *late], signals, strict=False)]


def _kill_and_resume(folder: Path, path: Path, mode: str, moment: Moment) -> tuple[int, Outcome]:
    """End a run's parent at `moment`: how many results it had then, and the run that went on with it to its end."""
    mark = {"KILLED_RUN": str(path)}
    parent = _start(folder, f"--record={path}", mode, **mark)
    alive = moment.of(parent, path)
    parent.send_signal(moment.signal)
    parent.wait(60)
    _nothing_left(mark)
    before: list[TestResult] = []
    if path.exists():
        read_beginning(path, before.append, before.append)
    if not alive or len(before) > moment.at_most:  # this run was faster than the one that was measured
        path.unlink(missing_ok=True)
        return _kill_and_resume(folder, path, mode, replace(moment, seconds=moment.seconds * 0.8))
    resumed = session(folder, path, f"--resume={path}", mode, **mark)
    _nothing_left(mark)
    assert _results(before).items() <= _results(resumed.record.results).items()
    return len(before), resumed


def _nothing_left(mark: dict[str, str]) -> None:
    """Expect that every process of a run ends by itself, soon."""
    words = {f"{name}={value}".encode() for name, value in mark.items()}
    until = time.monotonic() + 20
    while left := [file.parent.name for file in Path("/proc").glob("[0-9]*/environ") if words <= _environment(file)]:
        assert time.monotonic() < until, left
        time.sleep(0.05)


def _environment(file: Path) -> set[bytes]:
    try:
        return set(file.read_bytes().split(b"\0"))
    except OSError:  # the process is gone
        return set()


@pytest.mark.parametrize("mode", ["--isolate", "--no-isolate"])
def test_a_run_that_is_ended_at_any_moment_can_be_gone_on_with(
    folder: Path, whole: Outcome, tmp_path: Path, mode: str
) -> None:
    both = [tmp_path / "one.jsonl", tmp_path / "other.jsonl"]
    with ThreadPoolExecutor(2) as two:
        moments = _moments(random.Random(20), min(two.map(lambda name: _until_a_result(folder, name, mode), both)))
        paths = [tmp_path / f"{number}.jsonl" for number in range(KILLS)]
        runs = list(two.map(lambda *each: _kill_and_resume(folder, each[0], mode, each[1]), paths, moments))
    for _, resumed in runs:
        assert resumed.status == 1, resumed.output
        assert resumed.path.read_bytes().count(RESULT) == TESTS
        assert resumed.record.defects == ()
        _same(resumed.record, whole.record)
    reached = [results for results, _ in runs]
    # Some had not even begun, some were in the middle, and some had nothing left but their end.
    assert reached[0] == 0
    assert any(0 < results < TESTS for results in reached)
    assert reached[2 * (KILLS // 3) :] == [TESTS] * (KILLS - 2 * (KILLS // 3))


def _until_a_result(folder: Path, path: Path, mode: str) -> float:
    """The seconds from a run's start to its first result."""
    begun = time.monotonic()
    parent = _start(folder, f"--record={path}", mode)
    Moment(0.0, 1, TESTS, signal.SIGKILL).of(parent, path)
    took = time.monotonic() - begun
    parent.kill()
    parent.wait(60)
    return took


@pytest.mark.parametrize("times", [12, pytest.param(300, marks=pytest.mark.soak)])
def test_a_record_that_is_cut_off_at_any_byte_can_be_gone_on_with(
    folder: Path, whole: Outcome, tmp_path: Path, times: int
) -> None:
    """Whatever ends a run, its record is the beginning of what it would have been, since lines are only appended."""
    content = whole.path.read_bytes()
    header = content.index(b"\n") + 1
    cuts = random.Random(3).sample(range(header + 1, len(content)), times)
    script = tmp_path / "resume.py"
    script.write_text(RESUME, encoding="utf-8")
    for number, cut in enumerate(cuts):
        (tmp_path / f"{number}.jsonl").write_bytes(content[:cut])
    paths = [str(tmp_path / f"{number}.jsonl") for number in range(len(cuts))]
    done = subprocess.run(
        [sys.executable, str(script), *command(["--no-isolate", "-q"])[3:], "--", *paths],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300 + 5 * times,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    for path in map(Path, paths):
        resumed = Outcome(1, "", path)
        assert path.read_bytes().count(RESULT) == TESTS
        assert resumed.record.defects == ()
        _same(resumed.record, whole.record)


#: Goes on with each of the records behind ``--``, one after the other in forks of a process that has begun.
RESUME = """
import os
import sys

import hypothesis
import pytest

import conformance.session.executor
import conformance.start

words, paths = sys.argv[1 : sys.argv.index("--")], sys.argv[sys.argv.index("--") + 1 :]
for path in paths:
    pid = os.fork()
    if pid == 0:
        status = pytest.main([*words, f"--resume={path}"])
        sys.stdout.flush()
        os._exit(status)
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 1:
        sys.exit(path)
"""


def test_workers_die_with_their_parent(folder: Path, tmp_path: Path) -> None:
    parent = _start(folder, f"--record={tmp_path / 'run.jsonl'}")
    until = time.monotonic() + 20
    workers: list[int] = []
    while not workers and time.monotonic() < until:
        time.sleep(0.05)
        workers = _children(parent.pid)
    time.sleep(1)  # long enough for the worker to have asked for it
    parent.kill()
    parent.wait()
    while any(_lives(worker) for worker in workers) and time.monotonic() < until:
        time.sleep(0.05)
    assert workers
    assert not any(_lives(worker) for worker in workers)


def _children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(word) for word in text.split()]


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_an_interrupted_run_says_so_and_can_be_gone_on_with(folder: Path, whole: Outcome, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    parent = _start(folder, f"--record={path}")
    until = time.monotonic() + 20
    while time.monotonic() < until and not (path.exists() and path.read_bytes().count(b'"result"') >= 3):
        time.sleep(0.02)
    os.kill(parent.pid, signal.SIGINT)
    assert parent.wait(20) == 2
    footer = Outcome(2, "", path).record.footer
    assert footer is not None
    assert (footer.complete, footer.exit_status) == (False, 2)
    _same(session(folder, path, f"--resume={path}").record, whole.record)


@pytest.mark.parametrize("isolated", [True, False])
def test_the_one_in_flight_runs_again(folder: Path, whole: Outcome, tmp_path: Path, isolated: bool) -> None:
    lines = whole.path.read_bytes().splitlines(keepends=True)
    path = tmp_path / "run.jsonl"
    # The header, the plan, ten tests, one that was started, and a line that was cut off.
    path.write_bytes(b"".join(lines[:23]) + lines[23][:9])
    outcome = session(folder, path, f"--resume={path}", "--isolate" if isolated else "--no-isolate")
    assert list(outcome.record.started).count(outcome.record.started[10]) == 2
    _same(outcome.record, whole.record)


def test_a_complete_run_has_nothing_left_to_run(folder: Path, whole: Outcome, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    shutil.copy(whole.path, path)
    outcome = session(folder, path, f"--resume={path}")
    assert outcome.status == 1
    assert len(outcome.record.started) == len(whole.record.started)
    _same(outcome.record, whole.record)


def test_the_record_of_another_run_is_refused(folder: Path, whole: Outcome, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    shutil.copy(whole.path, path)
    content = path.read_bytes()
    outcome = session(folder, path, f"--resume={path}", "--revision=2.14", "-k", "test_it[")
    assert outcome.status == 4
    assert "the record is of another run: another revision: '2.13' and '2.14'" in outcome.output
    assert path.read_bytes() == content
