"""The page about adapters names every member, with the default that the code has."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from pathlib import Path

import pytest

from conformance.adapter import Adapter
from conformance.adapter.device_module import GenericModule
from conformance.requirements.vocabulary import CAPABILITIES

PAGE = (Path(__file__).parents[2] / "docs" / "adapters.md").read_text(encoding="utf-8")
ROWS = {
    member: (default, declared)
    for member, default, declared in re.findall(
        r"^\| `(\w+)` \| (.*?) \| ?(?:`(\w+)`)? ?\|$", PAGE.split("## The members")[1].split("\n## ")[0], re.MULTILINE
    )
}
DATA = [name for name in Adapter.__annotations__ if not name.startswith("_")]
METHODS = [name for name in vars(Adapter) if not name.startswith("_") and name not in DATA]


def test_every_member_has_a_row() -> None:
    assert sorted(ROWS) == sorted([*DATA, *METHODS])
    assert {declared for _, declared in ROWS.values() if declared} <= {*CAPABILITIES}


@pytest.mark.parametrize("name", DATA)
def test_data_have_the_default_of_the_page(name: str) -> None:
    default = ROWS[name][0]
    assert hasattr(Adapter, name) != default.startswith("must be written")
    if hasattr(Adapter, name):
        assert default == f"`{getattr(Adapter, name)!r}`"


def _functions_of_the_module(member: str) -> set[str]:
    """What a method calls of the device module."""
    node = ast.parse(textwrap.dedent(inspect.getsource(inspect.getattr_static(Adapter, member))))
    return {
        part.attr
        for part in ast.walk(node)
        if isinstance(part, ast.Attribute) and ast.unparse(part.value) == "self.module"
    }


@pytest.mark.parametrize("name", [name for name in METHODS if inspect.isfunction(vars(Adapter)[name])])
def test_methods_call_what_the_page_says(name: str) -> None:
    called = _functions_of_the_module(name)
    if name != "new_stream":  # which asks for one that nobody uses
        assert set(re.findall(r"`module\.(\w+)`", ROWS[name][0])) == called
    for function in called & {*vars(GenericModule)}:
        stand_in = ", else " in ROWS[name][0]
        assert stand_in or _raises_only(function), f"the page says of {name} that nothing stands in for {function}"


def _raises_only(function: str) -> bool:
    node = ast.parse(textwrap.dedent(inspect.getsource(vars(GenericModule)[function]))).body[0]
    assert isinstance(node, ast.FunctionDef)
    return isinstance(node.body[-1], ast.Raise) and len(node.body) == 1
