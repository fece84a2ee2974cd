"""What a record says about who was tested."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.adapters import reference
from conformance.adapters.implementations import resolve
from conformance.records.subject import Subject
from conformance.records.tested import ON_THE_HOST, OWN_BASE, OWN_CLASS, SIMULATION, remarks
from reports import write
from tests.reports.samples import sample

ROOT = Path(__file__).parents[2]

CLASS = """
import reference_impl

class MyGraph(reference_impl.CUDAGraph):
    def replay(self):
        raise RuntimeError("from " + __file__)
"""

ADAPTER = """
import types
import graphs
from conformance.adapter import ModuleAdapter

def adapter():
    adapter = ModuleAdapter("nova", types.SimpleNamespace(), graphs.Nova, device="meta", revision="2.14")
    adapter.environment = lambda: {"device": "Nova 1", "driver": "7.3"}
    return adapter
"""

NOVA = """
class Nova:
    def __init__(self, keep_graph=False): ...
    def capture_begin(self, pool=None, capture_error_mode="global"): ...
    def capture_end(self): ...
    def replay(self): ...
    def reset(self): ...
"""


def _environment(spec: str) -> dict[str, str]:
    return dict(Subject.of(resolve(spec), spec).environment)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def test_the_kits_own_class_says_so() -> None:
    values = _environment("reference")
    assert values["graph_class"].startswith("reference_impl.")
    assert values["graph_class"].endswith(".CUDAGraph")
    assert values["adapter_file"].startswith("reference.py, SHA-256 ")
    assert remarks(values) == (f"ran on {SIMULATION}", OWN_CLASS)


def test_the_kits_own_class_under_another_name_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    adapter = reference.adapter()
    monkeypatch.setattr(adapter, "name", "vendor.NovaGraph")
    assert Subject.of(adapter, "vendor:adapter").environment["reference"] == OWN_CLASS


def test_a_class_in_a_file_is_named_without_its_folder(tmp_path: Path) -> None:
    file = tmp_path / "someones-home" / "my_graph.py"
    file.parent.mkdir()
    file.write_text(CLASS, encoding="utf-8")
    adapter = resolve(f"{file}:MyGraph")
    values = Subject.of(adapter, f"{file}:MyGraph").environment
    assert adapter.name == "my_graph.py:MyGraph"
    assert values["graph_class"] == "my_graph.MyGraph"
    assert values["graph_class_file"] == f"my_graph.py, SHA-256 {_digest(CLASS)}"
    assert values["adapter_file"].startswith("reference.py, ")
    assert values["reference"].startswith(OWN_BASE)
    assert "someones-home" not in json.dumps(dict(values))


def test_an_adapter_and_its_class_have_a_file_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "graphs.py").write_text(NOVA, encoding="utf-8")
    (tmp_path / "my_adapter.py").write_text(ADAPTER, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    values = _environment(f"{tmp_path}/my_adapter.py:adapter")
    assert values["graph_class"] == "graphs.Nova"
    assert values["graph_class_file"] == f"graphs.py, SHA-256 {_digest(NOVA)}"
    assert values["adapter_class"].rpartition(".")[2] == "ModuleAdapter"
    assert values["adapter_file"] == f"my_adapter.py, SHA-256 {_digest(ADAPTER)}"
    assert (values["device"], values["driver"]) == ("Nova 1", "7.3")
    assert remarks(values) == ()


def test_a_class_on_the_host_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "graphs.py").write_text(NOVA, encoding="utf-8")
    (tmp_path / "host_adapter.py").write_text(ADAPTER.replace("meta", "cpu"), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert remarks(_environment(f"{tmp_path}/host_adapter.py:adapter")) == (f"ran on {ON_THE_HOST}",)


def test_pages_say_it_in_words(tmp_path: Path) -> None:
    record = sample(tmp_path / "run.jsonl", environment=_environment("reference"))
    first, markdown = write([record], tmp_path)
    own = tmp_path / "records" / "sample.Graph.html"
    for page in (first, markdown, own):
        text = page.read_text(encoding="utf-8").replace("&#39;", "'").lower()
        assert f"ran on {SIMULATION}" in text
        assert OWN_CLASS in text


def test_a_home_folder_is_nowhere_in_what_is_published(tmp_path: Path) -> None:
    home = tmp_path / "someones-home"
    file = home / "graphs" / "my_graph.py"
    file.parent.mkdir(parents=True)
    file.write_text(CLASS, encoding="utf-8")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *words],
            cwd=elsewhere,
            env={**os.environ, "HOME": str(home), "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    words = ["-c", "import sys; from conformance.cli import main; sys.exit(main())", "run"]
    words += [f"--impl={file}:MyGraph", "--record=run.jsonl", "--no-isolate", "--reproducers=scripts", "-q"]
    done = run(*words, "-k", "test_many_instantiations", "--tb=no")
    assert "1 failed" in done.stdout, done.stdout + done.stderr
    text = (elsewhere / "run.jsonl").read_text(encoding="utf-8")
    assert "someones-home" not in text
    assert "~/graphs/my_graph.py" in text
    assert f"note: ran on {SIMULATION}" in done.stdout
    (script,) = (elsewhere / "scripts").glob("*.py")
    assert "someones-home" not in script.name + script.read_text(encoding="utf-8")
    again = run(str(script))
    assert again.returncode == 1
    assert "RuntimeError: from " in again.stderr, again.stderr


def test_what_was_derived_ends_with_a_sentence() -> None:
    adapter = reference.adapter()
    adapter.derivation = [f"sentence {number} " + "says a good deal" * 5 for number in range(6)]
    derived = Subject.of(adapter, "reference").environment["derived"]
    sentences = derived.split("; ")
    assert sentences[:-1] == list(adapter.derivation[: len(sentences) - 1])
    assert sentences[-1] == f"and {6 - len(sentences) + 1} more"
    assert len(sentences) > 3


def test_what_was_derived_is_there_in_full_where_there_is_room() -> None:
    adapter = reference.adapter()
    adapter.derivation = ["no adapter is written for it", "as the dialect cuda"]
    derived = Subject.of(adapter, "reference").environment["derived"]
    assert derived == "no adapter is written for it; as the dialect cuda"
