"""What the project says of itself agrees: the licence, the Pythons, the releases of torch."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HOME = Path(__file__).parents[2]
WORKFLOW = (HOME / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
HOOKS = (HOME / ".pre-commit-config.yaml").read_text(encoding="utf-8")
MAKEFILE = (HOME / "Makefile").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    """The table of that name in pyproject.toml."""
    settings = tomllib.loads((HOME / "pyproject.toml").read_text(encoding="utf-8"))
    table: dict[str, Any] = settings["project"]
    return table


def _listed(key: str) -> list[str]:
    (row,) = re.findall(rf"^ +{key}: \[(.+)\]$", WORKFLOW, re.MULTILINE)
    return re.findall(r'"([^"]+)"', row)


def test_the_licence_is_there(project: dict[str, Any]) -> None:
    assert project["license"] == "BSD-3-Clause"
    text = "\n".join((HOME / name).read_text(encoding="utf-8") for name in project["license-files"])
    assert text.startswith("BSD 3-Clause License")
    assert project["authors"][0]["name"] in text


def test_hosted_ci_runs_every_python_that_is_claimed(project: dict[str, Any]) -> None:
    claimed = [
        entry.rpartition(" ")[2]
        for entry in project["classifiers"]
        if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", entry)
    ]
    assert claimed == _listed("python")
    assert project["requires-python"] == f">={claimed[0]}"


def test_hosted_ci_runs_the_release_that_make_installs() -> None:
    (release,) = re.findall(r"^TORCH \?= torch==(\S+)$", MAKEFILE, re.MULTILINE)
    assert release in _listed("torch")


def test_hosted_ci_calls_what_anybody_can_run() -> None:
    tests, figures = WORKFLOW.split("\n  bench:\n")
    assert re.findall(r"^ +- run: (.+)$", tests, re.MULTILINE) == [".ci/run"]
    assert re.findall(r"^ +- run: (make .+?)(?: BENCH=.*)?$", figures, re.MULTILINE) == ["make bench"]
    assert "\nbench:" in MAKEFILE
    assert "continue-on-error: true" in figures  # a slow machine fails no change
    assert os.access(HOME / ".ci" / "run", os.X_OK)


def test_hooks_run_what_make_check_runs() -> None:
    check = MAKEFILE.partition("\ncheck:")[2].partition("\n\n")[0]
    for words in ("ruff check", "ruff format --check", "mypy", "graph-conformance requirements --check"):
        assert f"$(BIN)/{words}" in check
        assert f"entry: .venv/bin/{words}" in HOOKS


@pytest.mark.parametrize("name", ["no-such-python", "false"])
def test_a_python_that_is_named_is_never_replaced(name: str, tmp_path: Path) -> None:
    words = ["make", "check", f"VENV={tmp_path / 'venv'}"]
    run = subprocess.run(
        words, cwd=HOME, env={**os.environ, "PYTHON": name}, capture_output=True, text=True, check=False
    )
    assert run.returncode != 0
    assert f"none of these is Python 3.10 or newer: {name}" in run.stderr
    assert not (tmp_path / "venv").exists()
