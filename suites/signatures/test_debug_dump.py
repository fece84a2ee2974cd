"""What debug_dump takes.  What it writes is another suite's subject."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect, expect_no_raise, expect_raises
from conformance.markers import requirement
from suites.signatures.programs import BY_KEYWORD, expect_parameter
from suites.support.captures import captured
from suites.support.dumps import debugged, quiet
from suites.support.outcomes import caught, in_words
from suites.support.programs import Affine


def _captured(impl: Adapter) -> Any:
    x = impl.full(37, 0.0)
    return captured(impl, lambda: x.add_(1.0))[0]


@contextlib.contextmanager
def _working_in(folder: Path) -> Iterator[None]:
    """Make `folder` the working directory, so that a file that is written to no named place is written there."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _expect_taken(promise: str, call: Callable[[], Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class may warn that debugging was not enabled
        error = caught(call)  # a dump may be refused where debugging was not enabled
    expect(not isinstance(error, TypeError), promise, in_words(error))


@pytest.mark.parametrize("way", ["position", "keyword"])
@requirement("signatures.debug-dump-path")
def test_path(impl: Adapter, way: str, tmp_path: Path) -> None:
    """The path is taken either way, under the dialect's name, and is where the file is."""
    graph, path = debugged(impl, Affine(impl).body), tmp_path / "graph.dot"
    name = "path" if impl.dialect == "accelerator" else "debug_path"
    expect_parameter(graph.debug_dump, "debug_dump", name, position=0)
    promise = "debug_dump takes its path by position" if way == "position" else f"debug_dump takes its path as {name}"
    with quiet(), _working_in(tmp_path):
        if way == "position":
            expect_no_raise(promise, lambda: graph.debug_dump(str(path)))
        else:
            expect_no_raise(promise, lambda: graph.debug_dump(**{name: str(path)}))
    files = sorted(file.name for file in tmp_path.iterdir())
    # A class may write more beside it.
    expect(path.name in files, promise, f"in its folder there are {files}")


@requirement("signatures.debug-dump-path-required")
def test_path_is_required(impl: Adapter, tmp_path: Path) -> None:
    """Without a path a dump that would otherwise be written is refused."""
    graph = debugged(impl, Affine(impl).body)
    with quiet(), _working_in(tmp_path):
        expect_raises("debug_dump needs a path", graph.debug_dump)
    files = sorted(file.name for file in tmp_path.iterdir())
    expect(not files, "debug_dump without a path writes nothing", f"files: {files}")


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
