"""A user's own packages called as the kit's are: the command works, or says what hides what."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance.test_record import _write

ROOT = Path(__file__).parents[2]
COMMAND = ("-c", "from conformance.cli import main; raise SystemExit(main())")
PYTEST = ("-m", "pytest", "-p", "no:cacheprovider", "-c", str(ROOT / "conformance" / "pytest.ini"), f"--rootdir={ROOT}")
FILE = ROOT / "suites" / "reset" / "test_deletes.py"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A user's folder, with a package for each of those of the kit that do not start the command."""
    for name in ("suites", "reports", "reference_impl", "tools"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("", encoding="utf-8")
    return tmp_path


def kit(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Python with `words`, where `folder` comes before the kit on the path."""
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_report_is_written(folder: Path) -> None:
    record = _write(folder / "run.jsonl")
    process = kit(folder, *COMMAND, "report", str(record), "--output=out")
    assert process.returncode == 0, process.stderr
    assert "<title>" in (folder / "out" / "index.html").read_text(encoding="utf-8")


RUN = (*COMMAND, "run")


# Each way to start, and each to isolate, once; their other pairs in `make soak`.
@pytest.mark.parametrize(
    ("start", "isolation"),
    [
        pytest.param(RUN, "--isolate", id="run-isolate"),
        pytest.param(PYTEST, "--no-isolate", id="pytest-no-isolate"),
        pytest.param(RUN, "--no-isolate", id="run-no-isolate", marks=pytest.mark.soak),
        pytest.param(PYTEST, "--isolate", id="pytest-isolate", marks=pytest.mark.soak),
    ],
)
def test_suites_run(folder: Path, start: tuple[str, ...], isolation: str) -> None:
    chosen = [str(FILE)] if start is PYTEST else ["-k", FILE.name]
    process = kit(folder, *start, "--impl=reference", isolation, "-q", *chosen)
    assert process.returncode == 0, process.stdout + process.stderr
    assert " passed" in process.stdout


def test_self_check_finds_its_catalogue(folder: Path) -> None:
    process = kit(folder, *COMMAND, "self-check", "--quick", "--fault=takes-any-mode", "--processes=1")
    assert process.returncode == 0, process.stdout + process.stderr
    assert "1 fault: 1 killed" in process.stdout


# Each package, and each way to isolate, once; their other pairs in `make soak`.
@pytest.mark.parametrize(
    ("package", "isolation"),
    [
        ("suites", "--isolate"),
        ("reference_impl", "--no-isolate"),
        pytest.param("suites", "--no-isolate", marks=pytest.mark.soak),
        pytest.param("reference_impl", "--isolate", marks=pytest.mark.soak),
    ],
)
def test_what_is_imported_already_is_named(folder: Path, package: str, isolation: str) -> None:
    (folder / "mine.py").write_text(
        f"import {package}\nfrom conformance.adapters.reference import adapter\n", encoding="utf-8"
    )
    process = kit(folder, *COMMAND, "run", "--impl=mine.py:adapter", isolation, "-k", FILE.name)
    assert process.returncode == 4, process.stdout + process.stderr
    (said,) = [line for line in process.stderr.splitlines() if line.startswith("ERROR: ")]
    assert str(folder / package / "__init__.py") in said
    assert f"hides the kit's package {package!r} ({ROOT / package})" in said
    assert "rename it" in said
    assert "Traceback" not in process.stdout + process.stderr


def test_a_folder_that_is_no_package_hides_nothing(folder: Path) -> None:
    (folder / "suites" / "__init__.py").unlink()
    (folder / "mine.py").write_text(
        "import suites\nfrom conformance.adapters.reference import adapter\n", encoding="utf-8"
    )
    process = kit(folder, *PYTEST, "--impl=mine.py:adapter", "--no-isolate", "-q", str(FILE))
    assert process.returncode == 0, process.stdout + process.stderr
