"""The tutorial's class fails as the tutorial shows, and so does the script, until the class is repaired."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HOME = Path(__file__).parents[2]
TEXT = (HOME / "docs" / "tutorial.md").read_text(encoding="utf-8")
README = (HOME / "README.md").read_text(encoding="utf-8")
#: What a run ends with, but for its last line.
SUMMARY = re.compile(r"^verdict .*?should be 1\.5$", re.MULTILINE | re.DOTALL)


def _python(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.fspath(HOME)}
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the reader has written the class."""
    folder = tmp_path_factory.mktemp("tutorial")
    (source,) = re.findall(r"^```python\n# quick_graph\.py\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    (folder / "quick_graph.py").write_text(source, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def run(folder: Path) -> subprocess.CompletedProcess[str]:
    """The run of one area, here by its folder because that collects less."""
    words = [
        "--impl=quick_graph.py:QuickGraph",
        "--no-isolate",
        "-q",
        "--reproducers=scripts",
        "-p",
        "no:cacheprovider",
    ]
    return _python(folder, "-m", "pytest", *words, f"--rootdir={HOME}", os.fspath(HOME / "suites" / "reinstantiation"))


def test_the_run_ends_as_shown(run: subprocess.CompletedProcess[str]) -> None:
    assert run.returncode == 1, run.stdout[-2000:] + run.stderr
    assert SUMMARY.findall(run.stdout) == SUMMARY.findall(TEXT)
    assert len(SUMMARY.findall(TEXT)) == 1
    (line,) = re.findall(r"^DOES NOT CONFORM: .*$", TEXT, re.MULTILINE)
    assert run.stdout.splitlines()[-1] == line


def test_the_readme_shows_the_end_of_that_run(run: subprocess.CompletedProcess[str]) -> None:
    (excerpt,) = re.findall(r"^```\n(why .*?)^```$", README, re.MULTILINE | re.DOTALL)
    lines = [line for line in excerpt.splitlines() if line != "…"]
    assert len(lines) > 5
    assert [line for line in lines if line not in run.stdout.splitlines()] == []


def test_the_failure_reads_as_shown(run: subprocess.CompletedProcess[str]) -> None:
    (section,) = re.findall(r"^```\n(_+ test_many_instantiations.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    # The command of a checkout is another one than that of the installed suites.
    lines = [line for line in section.splitlines() if line != "…" and not line.startswith("run it again")]
    assert len(lines) > 15
    assert [line for line in lines if line not in run.stdout.splitlines()] == []


@pytest.mark.usefixtures("run")
def test_the_script_fails_until_the_class_is_repaired(folder: Path) -> None:
    (script,) = folder.glob("scripts/*test-many-instantiations.py")
    failing = _python(folder, os.fspath(script))
    assert failing.returncode == 1
    assert "expected: instantiate() number 2 has the edit of its round" in failing.stderr
    source = folder / "quick_graph.py"
    source.write_text(source.read_text(encoding="utf-8").partition("    has_executable")[0], encoding="utf-8")
    repaired = _python(folder, os.fspath(script))
    assert (repaired.returncode, "nothing is wrong" in repaired.stdout) == (0, True)
