"""A class that fails, a small suite over it, and sessions of that suite with waivers."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import pytest

# Before pytester takes stock of modules: a session in this process forgets what it imported, and torch loads only once.
from conformance import property_tests, start  # noqa: F401
from conformance.records.record import Record, read_record
from conformance.requirements.loading import load_registry
from conformance.session import executor, fixtures, recorder  # noqa: F401
from tests.conformance.conftest import GRAPH

#: The day on which the sessions run.
TODAY = date(2026, 3, 1)

_ENTRIES = load_registry().requirements.values()
#: Three requirements that every class owes.  Real ones, because workers know no others.
ONE, TWO, THREE = [
    entry.id
    for entry in _ENTRIES
    if entry.level == "must" and entry.capability is None and entry.untestable is None and not entry.destructive
    if entry.holds_for("cuda", "2.13")
][:3]
#: One that is left open.
OPEN = next(entry.id for entry in _ENTRIES if entry.level == "may" and entry.holds_for("cuda", "2.13"))
#: One behind a capability.
POOLED = next(
    entry.id for entry in _ENTRIES if entry.scored and entry.capability == "pools" and entry.holds_for("cuda", "2.13")
)
#: One of another dialect.
FOREIGN = next(entry.id for entry in _ENTRIES if entry.scored and entry.dialects == ("accelerator",))

IMPLEMENTATION = (
    GRAPH
    + """


    class Fake(Adapter):
        name = "fake"
        revision = "2.13"
        graph_class = Graph

        @property
        def device(self):
            if "torch" not in sys.modules:
                raise NotImplementedError  # a worker that need not import torch starts in a fraction of the time
            return super().device

        def full(self, *given, **named):
            self.device
            return super().full(*given, **named)

        def current_stream(self): return "the only one"
        def stream(self, stream): return contextlib.nullcontext()
        def synchronize(self): ...
        def is_current_stream_capturing(self): return False
        def environment(self): return {"device": "Model 7 [80 GB]", "driver": "13.1"}


    class Second(Fake):
        name = "second"
        capabilities = {"pools": False}
"""
)

HEAD = f"""
import pytest
from conformance.checks import fail
from conformance.errors import HarnessError
from conformance.markers import requirement

ONE, TWO, THREE, OPEN, POOLED = {ONE!r}, {TWO!r}, {THREE!r}, {OPEN!r}, {POOLED!r}
"""

#: One failure of ONE, in two of its tests, and a pass of TWO.
TESTS = """
    @requirement(ONE)
    def test_replay(impl): impl.new_graph().replay()

    @requirement(ONE)
    @pytest.mark.parametrize("number", [1, 2])
    def test_numbers(impl, number):
        if number == 2:
            fail("it is two", "it is not")

    @requirement(TWO)
    def test_reset(impl): impl.new_graph().reset()
"""


def waiver(**values: str) -> str:
    """An entry; each value as TOML, and ``-`` for none.  Without `requirement` or `test` it is about ONE."""
    target = {key: values[key] for key in ("requirement", "test") if key in values} or {"requirement": f'"{ONE}"'}
    usual = {"reason": '"the driver"', "link": '"https://example.org/7"', "owner": '"graphs"', "expires": "2026-12-31"}
    entries = {**target, **usual, **values}
    return "[[waiver]]\n" + "".join(f"{key} = {value}\n" for key, value in entries.items() if value != "-")


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

    def run(
        self, text: str | bytes | None, *words: str, impl: str = "fake.py:Fake"
    ) -> tuple[pytest.RunResult, Record | None]:
        """Run all test files with the waiver file `text`, in this process unless `words` ask for workers."""
        if text is not None:
            content = text if isinstance(text, bytes) else text.encode()
            (self.folder / "known.toml").write_bytes(content)
            words = ("--waivers=known.toml", *words)
        if "-n2" not in words:
            words = ("--no-isolate", *words)
        path = self.folder / "run.jsonl"
        result = self.pytester.runpytest_inprocess(
            *(
                "-p",
                "no:cacheprovider",
                "-W",
                "ignore::pytest.PytestAssertRewriteWarning",
            ),  # of what others imported here
            *(f"--impl={impl}", f"--record={path}", "--force", *words),
        )
        return result, read_record(path) if path.exists() else None


@pytest.fixture
def kit(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Kit:
    """A folder with the class and its tests, on that day."""
    monkeypatch.setattr("conformance.start.today", lambda: TODAY)
    (pytester.path / "fake.py").write_text(textwrap.dedent(IMPLEMENTATION), encoding="utf-8")
    kit = Kit(pytester)
    kit.tests(TESTS)
    return kit
