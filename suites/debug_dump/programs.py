"""Dumps, and graphs to dump."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect, expect_no_raise, fail
from conformance.markers import requirement
from suites.debug_dump.dot import Drawing, NotDot, read
from suites.support.programs import capture_between

OPERATORS = 4


@contextmanager
def quiet() -> Iterator[None]:
    """Dumping may warn: of what it writes, or that nothing is enabled."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def dump(impl: Adapter, graph: Any, path: Path, promise: str, *, verbose: bool | None = None) -> None:
    """Dump `graph`; reject if that raises or writes nothing."""
    with quiet():
        expect_no_raise(promise, lambda: impl.debug_dump(graph, str(path), verbose=verbose))
    expect(path.is_file(), promise, "no file was written")
    expect(path.stat().st_size > 0, promise, "the file is empty")


def drawing_in(path: Path) -> Drawing:
    """The drawing in a file; reject one that is not DOT."""
    try:
        return read(path.read_text(encoding="utf-8"))
    except (NotDot, UnicodeDecodeError) as error:
        fail("the dump is in the Graphviz DOT format", str(error))


def dumped(impl: Adapter, graph: Any, path: Path, *, verbose: bool | None = None) -> Drawing:
    """Dump `graph` and read the file."""
    dump(impl, graph, path, "a graph whose template is live can be dumped", verbose=verbose)
    return drawing_in(path)


def row_of_operators(impl: Adapter, count: int = OPERATORS) -> Callable[[], None]:
    """A program of `count` operators on one stream."""
    x = impl.full(37, 1.0)

    def body() -> None:
        for _ in range(count):
            x.add_(1)

    return body


def row_or_fork(joined: str) -> pytest.MarkDecorator:
    """Run a test on a row of operators and on a fork; the latter also decides the requirement `joined`."""
    mark = requirement(joined)
    return pytest.mark.parametrize("program", ["row", pytest.param("fork", marks=mark)])


def fork(impl: Adapter) -> Callable[[], None]:
    """A program with one operator before a fork, one on either branch, and one after the join."""
    x, y = impl.full(37, 1.0), impl.full((3, 5), 1.0)
    side = impl.new_stream()

    def body() -> None:
        x.add_(1)
        stream = impl.current_stream()
        side.wait_stream(stream)
        x.mul_(2)
        with impl.stream(side):
            y.mul_(3)
        stream.wait_stream(side)
        y.add_(4)

    return body


def kept(impl: Adapter, body: Callable[[], Any]) -> Any:
    """A graph with keep_graph=True holding the work of `body`."""
    graph = impl.new_graph(keep_graph=True)
    capture_between(impl, graph, body)
    return graph


def debugged(impl: Adapter, body: Callable[[], Any], *, keep_graph: bool | None = None) -> Any:
    """A graph in debug mode holding the work of `body`."""
    graph = impl.new_graph(keep_graph)
    with quiet():
        graph.enable_debug_mode()
        capture_between(impl, graph, body)
    return graph
