"""Scripts on disk."""

from __future__ import annotations

import re
from pathlib import Path

from conformance.errors import RecordError
from conformance.records.result import TestResult


def save(folder: Path, implementation: str, result: TestResult) -> Path:
    """Write the script of `result` into `folder`; return where.

    Raises:
        RecordError: it cannot be written.
    """
    name = re.sub(r"[^A-Za-z0-9]+", "-", f"{implementation} {result.test.removeprefix('suites/')}").strip("-")
    path = folder / f"{name}.py"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(result.reproducer or "", encoding="utf-8")
    except OSError as error:
        raise RecordError(f"the reproducer {path} cannot be written: {error.strerror or error}") from None
    return path
