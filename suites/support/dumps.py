"""Debug dumps, written and read."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from conformance.adapter import Adapter
from conformance.checks import expect, expect_no_raise, fail
from suites.support.captures import capture_between
from suites.support.dot import Drawing, NotDot, read


@contextmanager
def quiet() -> Iterator[None]:
    """Dumping may warn: of what it writes, or that nothing is enabled."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def working_in(folder: Path) -> Iterator[None]:
    """Make `folder` the working directory."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


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


#: The classes that debug mode was enabled for in this process: it may hold for all graphs of a class at once.
_enabled: set[type] = set()


def enable(graph: Any) -> None:
    """Enable debug mode.  Suites do it here, so that `was_enabled` knows."""
    _enabled.update(type(graph).__mro__)
    graph.enable_debug_mode()


def was_enabled(impl: Adapter) -> bool:
    """Whether a graph of the class was put into debug mode in this process."""
    return impl.graph_class in _enabled


def debugged(impl: Adapter, body: Callable[[], Any], *, keep_graph: bool | None = None) -> Any:
    """A graph in debug mode holding the work of `body`."""
    graph = impl.new_graph(keep_graph)
    with quiet():
        enable(graph)
        capture_between(impl, graph, body)
    return graph
