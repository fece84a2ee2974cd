"""The page about continuous integration shows the workflow that the kit writes."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path

from conformance.scaffold.writing import Subject, files_for

PAGE = (Path(__file__).parents[2] / "docs" / "ci.md").read_text(encoding="utf-8")


def test_the_workflow_is_the_one_that_is_written() -> None:
    (shown,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    written = files_for(Subject.of("torch.mine"), "conformance_adapter", dt.date(2026, 1, 1))
    assert shown.rstrip() == written["workflow.yml"].rstrip()
