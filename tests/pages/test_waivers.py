"""The page on waivers: its class, with its waivers, comes to what it shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

HOME = Path(__file__).parents[2]
TEXT = (HOME / "docs" / "waivers.md").read_text(encoding="utf-8")

#: The command on the page, on the day on the page.
COMMAND = """
import sys
from datetime import date

from conformance.waivers import clock

clock.today = lambda: date(2026, 10, 1)
from conformance.cli import main

sys.exit(main(sys.argv[1:]))
"""
TESTS = ["test_work_is_gone[executable-only]", "test_replay_is_refused[executable-only]"]


def test_the_run_ends_as_shown(tmp_path: Path) -> None:
    (source,) = re.findall(r"^```python\n# lasting_graph\.py\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    (tmp_path / "lasting_graph.py").write_text(source, encoding="utf-8")
    (waivers,) = re.findall(r"^```toml\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    (tmp_path / "known.toml").write_text(waivers, encoding="utf-8")
    (words,) = re.findall(r"^graph-conformance (run .*)$", TEXT, re.MULTILINE)
    process = subprocess.run(
        [
            sys.executable,
            "-c",
            COMMAND,
            *words.split(),
            "--no-isolate",
            *(f"--test=suites/reset/test_deletes.py::{test}" for test in TESTS),
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.fspath(HOME)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stdout[-2000:] + process.stderr
    (lines,) = re.findall(r"^```\n(known\.toml:.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    assert [line for line in lines.splitlines() if line not in process.stdout.splitlines()] == []
