"""Malformed adapters: all that is wrong at once, with its place and an example, before any test."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import pytest

from conformance.adapters.implementations import resolve
from conformance.errors import ImplementationError

HEAD = """
    from conformance.adapter import Adapter, ModuleAdapter

    class Graph:
        def capture_begin(self): ...
        def capture_end(self): ...
        def replay(self): ...

    class Plain(Adapter):
        name, revision, graph_class = "mine", "2.8", Graph

"""
#: The body of a class of an adapter, and what is said of each of its faults, with its line in the class.
WRONG: list[tuple[str, list[tuple[str, int]]]] = [
    ("name = ''", [("the adapter's name must be printable ASCII", 1)]),
    ("name = None", [("the adapter's name must be printable ASCII", 1)]),
    ("revision = 2.8", [("the adapter's revision: expected string", 1)]),
    ("revision = 'newest'", [("the adapter's revision: 'newest' is not a revision", 1)]),
    ("graph_class = Graph()", [("the adapter's graph_class must be a class, not <", 1)]),
    ("dialect = 'metal'", [("the adapter's dialect must be one of cuda, xpu, accelerator, not 'metal'", 1)]),
    ("capabilities = ['hooks']", [("the adapter's capabilities must be a mapping of names to booleans", 1)]),
    ("capabilities = {'hook': False}", [("an unknown capability 'hook'; did you mean 'hooks'?", 1)]),
    ("capabilities = {'hooks': 0}", [("capability 'hooks' must be True or False, not 0", 1)]),
    (
        "capabilities = {'template_editing': True, 'raw_handles': False}",
        [
            ("'template_editing' is declared True and 'raw_handles' False", 1),
            ("'template_editing' is declared True, and the adapter has no 'runtime'", 1),
        ],
    ),
    ("needs_side_stream = 'no'", [("the adapter's needs_side_stream must be a bool, not 'no'", 1)]),
    ("visible_devices = ''", [("the adapter's visible_devices must be the name of an environment variable", 1)]),
    ("script_words = {'read': None}", [("the adapter's script_words must be a mapping of strings", 1)]),
    ("seed = 'x'", [("the adapter's seed must be an int, not 'x'", 1)]),
    ("default_mode = None", [("the adapter's default_mode must be a str, not None", 1)]),
    ("synchronize = None", [("the adapter's synchronize is None, which is no method", 1)]),
    ("def full(self, shape): ...", [("the adapter's full takes no 'value', 'dtype'", 1)]),
    ("def new_graph(self): ...", [("the adapter's new_graph takes no 'keep_graph', 'pool', 'mode'", 1)]),
    ("def stream(self): ...", [("the adapter's stream takes no 'stream'", 1)]),
    (
        "dialect = 'metal'\nseed = 'x'\n\ndef stream(self): ...",
        [("dialect must be one of", 1), ("seed must be an int", 2), ("stream takes no 'stream'", 4)],
    ),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return tmp_path


def _refusal(folder: Path, code: str, attribute: str = "Wrong") -> str:
    (folder / "wrong.py").write_text(textwrap.dedent(HEAD) + code, encoding="utf-8")
    with pytest.raises(ImplementationError) as refused:
        resolve(f"wrong.py:{attribute}")
    text = str(refused.value)
    assert text.startswith(f"--impl=wrong.py:{attribute}:")
    return text


@pytest.mark.parametrize(("body", "faults"), WRONG, ids=[body.splitlines()[0] for body, _ in WRONG])
def test_each_fault_has_its_place_and_an_example(folder: Path, body: str, faults: list[tuple[str, int]]) -> None:
    text = _refusal(folder, "class Wrong(Plain):\n" + textwrap.indent(body, "    "))
    first = len(textwrap.dedent(HEAD).splitlines()) + 1
    for fault, line in faults:
        start = text.index(fault)
        assert f" at {folder / 'wrong.py'}, line {first + line}; write " in text[start:], fault
    assert text.count("; write ") == len(faults)


def test_all_that_must_be_written_is_asked_for_at_once(folder: Path) -> None:
    text = _refusal(folder, "class Wrong(Adapter): ...\n")
    for missing in ("name", "revision", "graph_class"):
        assert f"the adapter has no {missing!r} at {folder / 'wrong.py'}, line " in text
    assert 'write name = "torch.mine"' in text


def test_a_class_without_its_methods_is_refused_with_its_line(folder: Path) -> None:
    text = _refusal(folder, "class Half:\n    def replay(self): ...\nclass Wrong(Plain):\n    graph_class = Half\n")
    line = len(textwrap.dedent(HEAD).splitlines()) + 1
    assert f"graph class Half has no capture_begin, capture_end at {folder / 'wrong.py'}, line {line}" in text


def test_an_adapter_that_is_made_by_a_call_is_refused_with_its_file(folder: Path) -> None:
    code = "def make(): return ModuleAdapter('mine', object(), Graph, device='cpu', revision='2.8', dialect='metal')\n"
    text = _refusal(folder, code, "make")
    assert "not 'metal' at wrong.py; write dialect" in text


def test_a_class_that_cannot_be_made_is_refused(folder: Path) -> None:
    code = (
        "class Needy(Graph):\n    def __init__(self, size): ...\nclass Wrong(Plain):\n    graph_class = Needy\n"
        "class Lost(Graph):\n    def __init__(self): raise OSError('no driver')\n"
    )
    assert "a Needy cannot be constructed: TypeError: " in _refusal(folder, code)
    assert "a Lost cannot be constructed: OSError: no driver at " in _refusal(folder, code, "Lost")


@pytest.mark.parametrize("error", ["SystemExit('bye')", "Unsupported('bye')", "NotDerived('bye')"])
def test_a_function_that_ends_otherwise_is_refused(folder: Path, error: str) -> None:
    code = f"from conformance.errors import NotDerived, Unsupported\ndef make(): raise {error}\n"
    assert "making the adapter failed at " in _refusal(folder, code, "make")


def test_a_class_without_reset_is_none_of_these(folder: Path) -> None:
    (folder / "right.py").write_text(textwrap.dedent(HEAD), encoding="utf-8")
    adapter = resolve("right.py:Plain")
    assert adapter.dialect == "cuda"
    assert not adapter.has_reset
