"""A small kit: two areas of requirements, an implementation that does nothing on nothing, and sessions over them."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest

from conformance.records.record import Record, read_record
from conformance.requirements.area_files import read_registry
from conformance.requirements.registry import Registry

REQUIREMENTS = {
    "alpha": """
        area = "alpha"
        title = "The first area"

        [[requirement]]
        id = "alpha.one"
        level = "must"
        text = "One is promised."
        documents = ["a page", "another page"]
        since = "2.8"

        [[requirement]]
        id = "alpha.two"
        level = "should"
        text = "Two is advised."
        documents = ["a page"]
        since = "2.8"

        [[requirement]]
        id = "alpha.left-open"
        level = "may"
        text = "Three is left open."
        documents = ["a page"]
        since = "2.8"
    """,
    "beta": """
        area = "beta"
        title = "The second area"

        [[requirement]]
        id = "beta.pooled"
        level = "must"
        text = "Pools are promised."
        documents = ["a page"]
        since = "2.8"
        capability = "pools"

        [[requirement]]
        id = "beta.late"
        level = "must"
        text = "A later release promises it."
        documents = ["a page"]
        since = "2.14"

        [[requirement]]
        id = "beta.other"
        level = "must"
        text = "Another shape promises it."
        documents = ["a page"]
        since = "2.8"
        dialects = ["accelerator"]

        [[requirement]]
        id = "beta.hopeless"
        level = "must"
        text = "Nothing can decide it."
        documents = ["a page"]
        since = "2.8"
        untestable = "it is about the future"

        [[requirement]]
        id = "beta.deadly"
        level = "must"
        text = "It may break the process."
        documents = ["a page"]
        since = "2.8"
        destructive = true
    """,
}

#: The beginning of an implementation: its graph class, whose replay is broken.
GRAPH = """
    import contextlib
    import sys

    from conformance.adapter import Adapter


    class Graph:
        def __init__(self, keep_graph=False): ...
        def capture_begin(self, pool=None, capture_error_mode="global"): ...
        def capture_end(self): ...
        def replay(self): raise RuntimeError("replay is broken")
        def reset(self): ...
"""

IMPLEMENTATION = (
    GRAPH
    + """


    class Fake(Adapter):
        name = "fake"
        revision = "2.13"
        graph_class = Graph

        def __init__(self):
            self.current = "default"
            self.problem = None
            self.recovered = 0

        @property
        def device(self):
            if "torch" not in sys.modules:
                raise NotImplementedError  # a worker that need not import torch starts in a fraction of the time
            return super().device

        def full(self, *given, **named):
            self.device
            return super().full(*given, **named)

        def current_stream(self):
            return self.current

        @contextlib.contextmanager
        def stream(self, stream):
            before, self.current = self.current, stream
            yield
            self.current = before

        def synchronize(self): ...

        def is_current_stream_capturing(self):
            return False

        def recover(self):
            self.recovered += 1
            problem, self.problem = self.problem, None
            return problem


    class Second(Fake):
        name = "second"


    class Poor(Fake):
        name = "poor"
        capabilities = {"pools": False}
"""
)

HEAD = """
import warnings

import pytest
from conformance.checks import expect, fail
from conformance.errors import HarnessError
from conformance.markers import requirement
"""


@dataclass
class Kit:
    """Runs sessions in a folder of their own."""

    pytester: pytest.Pytester

    @property
    def folder(self) -> Path:
        return self.pytester.path

    def tests(self, code: str, name: str = "test_it.py") -> None:
        """Write a test file."""
        (self.folder / name).write_text(HEAD + textwrap.dedent(code), encoding="utf-8")

    def run(self, *words: str, impl: str = "fake.py:Fake") -> pytest.RunResult:
        """Run all test files in this process, unless `words` ask for workers."""
        where = () if {"-n1", "--isolate"} & set(words) else ("--no-isolate",)
        return self.pytester.runpytest_inprocess("-p", "no:cacheprovider", f"--impl={impl}", *where, *words)

    def recorded(self, *words: str, impl: str = "fake.py:Fake") -> tuple[pytest.RunResult, Record]:
        """Run all test files, and read the record."""
        path = self.folder / "out" / "run.jsonl"
        result = self.run(f"--record={path}", "--force", *words, impl=impl)
        return result, read_record(path)


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    """The two areas."""
    folder = tmp_path_factory.mktemp("requirements")
    for area, text in REQUIREMENTS.items():
        (folder / f"{area}.toml").write_text(textwrap.dedent(text), encoding="utf-8")
    return read_registry(folder)


@pytest.fixture
def kit(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, registry: Registry) -> Kit:
    """A folder with the implementation, whose sessions know the two areas only."""
    monkeypatch.setattr("conformance.start.load_registry", lambda: registry)
    (pytester.path / "fake.py").write_text(textwrap.dedent(IMPLEMENTATION), encoding="utf-8")
    return Kit(pytester)
