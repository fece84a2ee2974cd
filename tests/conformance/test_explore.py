"""`graph-conformance explore`: rounds of drawn examples, counted, and what they find."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.cli import main
from conformance.errors import ExitStatus

BROKEN = """
from reference_impl import CUDAGraph

class Forgetful(CUDAGraph):
    "Its third replay does nothing."
    replays = 0

    def replay(self):
        self.replays += 1
        if self.replays != 3:
            super().replay()
"""


def explore(*words: str) -> int:
    return main(["explore", "--seed=5", "-k", "test_one_capture", *words])


def test_rounds_go_on_until_the_count_is_reached(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "out"
    status = explore("--impl=reference", "--count=40", "--examples=1", f"--output={folder}")
    output = capfd.readouterr().out
    assert status == ExitStatus.CONFORMING, output
    rounds = [
        int(each) for each in re.findall(r"^seed \d+: (\d+) examples in \d+ s, failed tests: 0$", output, re.MULTILINE)
    ]
    assert len(rounds) == 2
    assert sum(rounds[:-1]) < 40 <= sum(rounds)
    assert re.search(rf"^examples drawn: {sum(rounds)}, in \d+ s \(seeds 5 to 6\)$", output, re.MULTILINE)
    assert "failures: 0\n" in output
    assert sorted(each.name for each in folder.iterdir()) == [
        f"seed-{seed}.{ending}" for seed in (5, 6) for ending in ("jsonl", "txt")
    ]


def test_failure_has_a_script(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    broken, folder = tmp_path / "broken.py", tmp_path / "out"
    broken.write_text(BROKEN, encoding="utf-8")
    status = explore(f"--impl={broken}:Forgetful", "--count=1", f"--output={folder}")
    output = capfd.readouterr().out
    assert status == ExitStatus.NOT_CONFORMING, output
    assert "failures: 1\n" in output
    assert "\n1. suites/random_programs/test_programs.py::test_one_capture: fail, rounds: 1 of 1\n" in output
    (script,) = folder.glob("failure-1/*.py")
    assert f"script: {script}\n" in output
    assert re.search(r"again: .*--explore=5 .*test_one_capture", output)
    process = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert process.returncode != 0
    assert "replay()" in script.read_text(encoding="utf-8")


def test_folder_must_be_new(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert explore("--impl=reference", f"--output={tmp_path}") == ExitStatus.USAGE
    assert "cannot be made: File exists" in capsys.readouterr().err


def test_what_no_round_can_do_is_said(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "out"
    assert explore("--impl=nothing.like:this", f"--output={folder}") == ExitStatus.KIT_FAILED
    captured = capfd.readouterr()
    assert f"{folder / 'seed-5.txt'} says why" in captured.err
    assert "examples drawn: 0, " in captured.out
