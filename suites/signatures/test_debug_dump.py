"""What debug_dump takes.  What it writes is another suite's subject, so only a TypeError counts here."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect, expect_raises
from conformance.markers import requirement
from suites.signatures.programs import BY_KEYWORD, expect_parameter
from suites.support.captures import captured
from suites.support.outcomes import caught, in_words


def _captured(impl: Adapter) -> Any:
    x = impl.full(37, 0.0)
    return captured(impl, lambda: x.add_(1.0))[0]


def _expect_taken(promise: str, call: Callable[[], Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class may warn that debugging was not enabled
        error = caught(call)  # a dump may be refused where debugging was not enabled
    expect(not isinstance(error, TypeError), promise, in_words(error))


@pytest.mark.parametrize("way", ["position", "keyword"])
@requirement("signatures.debug-dump-path")
def test_path(impl: Adapter, way: str, tmp_path: Path) -> None:
    """The path is taken either way, under the dialect's name."""
    graph, path = _captured(impl), str(tmp_path / "graph.dot")
    name = "path" if impl.dialect == "accelerator" else "debug_path"
    expect_parameter(graph.debug_dump, "debug_dump", name, position=0)
    if way == "position":
        _expect_taken("debug_dump takes its path by position", lambda: graph.debug_dump(path))
    else:
        _expect_taken(f"debug_dump takes its path as {name}", lambda: graph.debug_dump(**{name: path}))


@pytest.mark.parametrize("switch", ["off", "on"])
@requirement("signatures.debug-dump-verbose")
def test_verbose(impl: Adapter, switch: str, tmp_path: Path) -> None:
    """The switch verbose is taken by keyword."""
    graph, path = _captured(impl), str(tmp_path / "graph.dot")
    expect_parameter(graph.debug_dump, "debug_dump", "verbose", default=True, kinds=BY_KEYWORD)
    _expect_taken("debug_dump takes verbose by keyword", lambda: graph.debug_dump(path, verbose=switch == "on"))


@requirement("signatures.debug-dump-verbose")
def test_verbose_by_position(impl: Adapter, tmp_path: Path) -> None:
    """The switch verbose is not taken by position."""
    graph, path = _captured(impl), str(tmp_path / "graph.dot")
    expect_raises("debug_dump takes verbose by keyword only", lambda: graph.debug_dump(path, False))
