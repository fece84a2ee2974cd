"""The house as the README draws it: which of the packages may import which."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAY_IMPORT: dict[str, set[str]] = {
    "conformance": set(),
    "reference_impl": set(),
    "reports": {"conformance"},
    "suites": {"conformance"},
}


def imported(file: Path) -> Iterator[str]:
    """The top-level names of what `file` imports, anywhere in it."""
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").partition(".")[0]


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_no_import_runs_upward(package: str) -> None:
    forbidden = {*MAY_IMPORT, "tests", "tools"} - MAY_IMPORT[package] - {package}
    files = sorted((ROOT / package).rglob("*.py"))
    assert files
    assert [(file.name, name) for file in files for name in imported(file) if name in forbidden] == []
