"""The page about continuous integration shows the workflow that the kit writes."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path

import pytest

from conformance.cli import main
from conformance.scaffold.writing import Subject, files_for
from tests.reports.samples import BAD, GOOD, sample

PAGE = (Path(__file__).parents[2] / "docs" / "ci.md").read_text(encoding="utf-8")


def test_the_workflow_is_the_one_that_is_written() -> None:
    (shown,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    written = files_for(Subject.of("torch.mine"), "conformance_adapter", dt.date(2026, 1, 1))
    assert shown.rstrip() == written["workflow.yml"].rstrip()


def test_its_commands_for_two_records_do_what_it_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (section,) = re.findall(r"^## The record of before\n(.*)", PAGE, re.MULTILINE | re.DOTALL)
    old = sample(tmp_path / "old.jsonl", GOOD)
    new = sample(tmp_path / "new.jsonl", BAD, started_at="2030-02-01T00:00:00Z")
    for command, status in (("compare", 1), ("report", 0)):
        (words,) = re.findall(rf"`graph-conformance ({command} old\.jsonl new\.jsonl[^`]*)`", section)
        places = {"old.jsonl": str(old.path), "new.jsonl": str(new.path), "report": str(tmp_path / "report")}
        verb, *rest = words.split()
        assert main([verb, *(places.get(word, word) for word in rest)]) == status
    assert "REGRESSED: " in capsys.readouterr().out
    markdown = (tmp_path / "report" / "report.md").read_text(encoding="utf-8")
    (row,) = [line for line in markdown.splitlines() if line.startswith("| `replay.twice`")]
    assert row.endswith("| ✓ pass | ✸ crash |")
