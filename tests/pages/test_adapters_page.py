"""The class that the page about adapters goes through is judged as the page shows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.adapters.vendors import VENDORS, Vendor

HOME = Path(__file__).parents[2]
EXAMPLE = HOME / "examples" / "eager_recorder"
PAGE = (HOME / "docs" / "adapters.md").read_text(encoding="utf-8")


def _command(folder: Path, line: str) -> str:
    """What the kit prints for a command line of the page."""
    assert f"graph-conformance {line}\n" in PAGE or f"`graph-conformance {line}`" in PAGE
    code = "import conformance.cli; raise SystemExit(conformance.cli.main())"
    done = subprocess.run(
        [sys.executable, "-c", code, *line.split()],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def _section(title: str) -> str:
    return PAGE.split(f"\n### {title}\n")[1].split("\n### ")[0]


def _lines(title: str) -> list[str]:
    """The lines of output that a section shows."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", _section(title), re.MULTILINE | re.DOTALL)
    (output,) = (text for language, text in blocks if not language)
    lines = [line for line in output.splitlines() if line not in {"", "…"}]
    assert len(lines) > 3
    return lines


def _not_printed_in_order(lines: list[str], printed: str) -> list[str]:
    rest = iter(printed.splitlines())
    return [line for line in lines if line not in rest]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the reader has copied the class, and written the adapter."""
    shutil.copy(EXAMPLE / "recorder.py", tmp_path)
    (source,) = re.findall(r"^```python\n# adapter\.py\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / "adapter.py").write_text(source, encoding="utf-8")
    return tmp_path


def test_the_adapter_is_that_of_the_example(folder: Path) -> None:
    written = (folder / "adapter.py").read_text(encoding="utf-8")
    assert (EXAMPLE / "adapter.py").read_text(encoding="utf-8").endswith("\n\n" + written)


def test_the_doctor_says_what_is_shown(folder: Path) -> None:
    printed = _command(folder, "doctor recorder.py:RecorderGraph")
    assert _not_printed_in_order(_lines("1. Ask the doctor"), printed) == []


def test_the_doctor_says_of_the_adapter_what_is_shown(folder: Path) -> None:
    printed = _command(folder, "doctor adapter.py:adapter")
    assert _not_printed_in_order(_lines("3. Write the adapter"), printed) == []


def test_the_run_of_one_area_ends_as_shown(folder: Path) -> None:
    printed = _command(folder, "run --impl recorder.py:RecorderGraph --no-isolate -q suites/replay")
    assert _not_printed_in_order(_lines("2. Run one area, without an adapter"), printed) == []


def test_what_is_not_printed_is_noticed() -> None:
    assert _not_printed_in_order(["a", "c"], "a\nb\nc\n") == []
    assert _not_printed_in_order(["c", "a"], "a\nb\nc\n") == ["a"]


@pytest.mark.parametrize("vendor", [vendor for _, vendor in VENDORS], ids=lambda vendor: vendor.name)
def test_a_vendor_differs_as_the_page_says(vendor: Vendor) -> None:
    ((dialect, newest, differs),) = re.findall(rf"^\| `{vendor.name}` \| (\w+) \|(.*?)\|(.*)\|$", PAGE, re.MULTILINE)
    assert (dialect, newest.strip()) == (vendor.dialect, vendor.newest or "")
    assert ("needs a pool" in differs) == vendor.needs_pool
    assert ("the default mode is `relaxed`" in differs) == (vendor.default_mode == "relaxed")
    assert ("takes no pool" in differs) == ("make_graphed_callables" in vendor.not_taken)
    named = re.search(r"\bno (`.*)", differs)
    assert set(re.findall(r"`(\w+)`", named[1]) if named else ()) == set(vendor.absent)
