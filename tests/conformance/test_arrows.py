"""The house as the README draws it: which of the packages may import which."""

from __future__ import annotations

import ast
import graphlib
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


def rooms(package: Path) -> dict[str, set[str]]:
    """Each folder and each module of `package`, with those of the others that it imports, if only for types."""
    graph: dict[str, set[str]] = {}
    for file in sorted(package.rglob("*.py")):
        room = file.relative_to(package).parts[0].removesuffix(".py")
        others = graph.setdefault(room, set())
        for node in ast.walk(ast.parse(file.read_bytes())):
            if isinstance(node, ast.ImportFrom) and node.module is not None and not node.level:
                names = [f"{node.module}.{alias.name}".split(".") for alias in node.names]
                others |= {name[1] for name in names if name[0] == package.name and (package / name[1]).is_dir()}
                others |= {
                    name[1] for name in names if name[0] == package.name and (package / f"{name[1]}.py").is_file()
                }
        others -= {room, "__init__"}
    return graph


@pytest.mark.parametrize("package", ["conformance", "reference_impl", "reports"])
def test_rooms_form_no_circle(package: str) -> None:
    assert list(graphlib.TopologicalSorter(rooms(ROOT / package)).static_order())


def test_a_circle_is_noticed(tmp_path: Path) -> None:
    package = tmp_path / "house"
    for room, other in (("kitchen", "hall"), ("hall", "cellar.wine"), ("cellar", "kitchen.stove")):
        (package / room).mkdir(parents=True)
        module, _, name = other.partition(".")
        (package / room / "a.py").write_text(f"from house.{module} import {name or 'a'}\n", encoding="utf-8")
    with pytest.raises(graphlib.CycleError):
        list(graphlib.TopologicalSorter(rooms(package)).static_order())
