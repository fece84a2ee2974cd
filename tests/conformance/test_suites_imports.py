"""The areas of the suites stand apart: what two of them use is in suites/support, and no test file is imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.paths import SUITES

SHARED = "support"
ELSEWHERE = "imports from another area; move what both use to suites/support"
FROM_A_TEST = "imports from a test file; move what both use to programs.py of the area, or to suites/support"


def objections(suites: Path) -> list[str]:
    """What is imported where it should not be, as ``file:line: module name: what to do``."""
    return [
        f"{path.relative_to(suites.parent)}:{line}: {name}: {objection}"
        for path in sorted(suites.glob("*/**/*.py"))
        for line, name in _imports(path, suites)
        if (objection := _objection(name, area=path.relative_to(suites).parts[0])) is not None
    ]


def _imports(path: Path, suites: Path) -> Iterator[tuple[int, str]]:
    """The line and the full name of all that a file imports."""
    package = path.relative_to(suites.parent).parent.parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else ()
            origin = [*above, *([node.module] if node.module else [])]
            yield from ((node.lineno, ".".join([*origin, alias.name])) for alias in node.names)


def _objection(name: str, area: str) -> str | None:
    top, *inside = name.split(".")
    if top != "suites" or not inside:
        return None
    if inside[0] not in (area, SHARED):
        return ELSEWHERE
    return FROM_A_TEST if any(module.startswith("test_") for module in inside[1:2]) else None


def test_no_area_imports_from_another_or_from_a_test_file() -> None:
    assert (SUITES / SHARED).is_dir()
    refused = objections(SUITES)
    assert not refused, "\n".join(refused)


@pytest.mark.parametrize(
    ("room", "text", "expected"),
    [
        ("pools", "from suites.replay.programs import chain", f"suites.replay.programs.chain: {ELSEWHERE}"),
        ("pools", "from suites import replay", f"suites.replay: {ELSEWHERE}"),
        ("pools", "import suites.replay.programs", f"suites.replay.programs: {ELSEWHERE}"),
        ("pools", "from ..replay import programs", f"suites.replay.programs: {ELSEWHERE}"),
        ("pools", "from .test_tokens import judge", f"suites.pools.test_tokens.judge: {FROM_A_TEST}"),
        ("pools", "from suites.pools import test_tokens", f"suites.pools.test_tokens: {FROM_A_TEST}"),
        ("support", "from suites.replay.programs import chain", f"suites.replay.programs.chain: {ELSEWHERE}"),
    ],
)
def test_what_is_refused(tmp_path: Path, room: str, text: str, expected: str) -> None:
    _write(tmp_path, room, f"import torch\n\n\ndef late() -> None:\n    {text}\n")
    assert objections(tmp_path / "suites") == [f"suites/{room}/programs.py:5: {expected}"]


@pytest.mark.parametrize(
    "text",
    [
        "from suites.pools.programs import test_pattern",
        "from suites.support.programs import Affine",
        "from suites.support import streams",
        "from . import programs",
        "import torch.testing.test_utilities",
    ],
)
def test_what_is_allowed(tmp_path: Path, text: str) -> None:
    _write(tmp_path, "pools", text)
    assert objections(tmp_path / "suites") == []


def _write(folder: Path, room: str, text: str) -> None:
    path = folder / "suites" / room / "programs.py"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
