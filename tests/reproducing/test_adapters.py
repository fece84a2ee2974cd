"""What an adapter overrides is a part of its scripts."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from conformance.records.record import read_record
from tests.forks import ROOT, sessions

#: A class that replays twice, and that has to be told its pool.
BROKEN = """
import reference_impl


class Broken(reference_impl.CUDAGraph):
    def capture_begin(self, pool):
        super().capture_begin(pool=pool)

    def replay(self):
        super().replay()
        super().replay()
"""

SETTINGS = 'name="own", dialect="cuda", revision="1.10", capabilities={"capture_modes": False, "keep_graph": False}'

OVERRIDES = f"""
import reference_impl
from broken import Broken

from conformance.adapter import ModuleAdapter


def with_pool(settings):
    return {{"pool": None, **settings}}


class Own(ModuleAdapter):
    def capture_begin(self, graph, **settings):
        graph.capture_begin(**with_pool(settings))


def adapter():
    return Own(module=reference_impl, graph_class=Broken, device="cpu", {SETTINGS})
"""

WHOLE = """
import reference_impl
import torch
from broken import Broken

from conformance.adapter import Adapter


class Own(Adapter):
    name, dialect, revision, graph_class = "own", "cuda", "1.10", Broken
    capabilities = dict.fromkeys(
        ["capture_modes", "keep_graph", "memory_stats", "graphed_callables", "threads", "fork_join"], False
    )

    @property
    def device(self):
        return torch.device("cpu")

    def new_graph(self, keep_graph=None, *, pool=None, mode=None):
        return Broken()

    def capture_begin(self, graph, *, pool=None, mode=None, liveness=None):
        graph.capture_begin(pool)

    def capture(self, graph, *, pool=None, stream=None, mode=None, liveness=None):
        return reference_impl.graph(graph, pool=pool, stream=stream)

    def graph_pool_handle(self):
        return reference_impl.graph_pool_handle()

    def is_current_stream_capturing(self):
        return reference_impl.is_current_stream_capturing()

    def new_stream(self):
        return reference_impl.Stream()

    def new_event(self):
        return reference_impl.Event()

    def current_stream(self):
        return reference_impl.current_stream()

    def default_stream(self):
        return reference_impl.default_stream()

    def stream(self, stream):
        return reference_impl.stream(stream)

    def synchronize(self):
        reference_impl.synchronize()

    def tensor(self, data, dtype=None):
        return torch.as_tensor(data, dtype=dtype).clone()


adapter = Own()
"""


#: A class on the host, which nobody wrote an adapter for.
DERIVED = """
from recorder import RecorderGraph


class adapter(RecorderGraph):
    def capture_end(self):
        super().capture_end()
        self._nodes.clear()
"""


#: An adapter whose text nobody has: what it overrides is made while the program runs.
GENERATED = f"""
import reference_impl
from broken import Broken

from conformance.adapter import ModuleAdapter

made = {{}}
exec("def capture_begin(self, graph, **settings): graph.capture_begin(settings.get('pool'))", made)


class Own(ModuleAdapter):
    capture_begin = made["capture_begin"]


def adapter():
    return Own(module=reference_impl, graph_class=Broken, device="cpu", {SETTINGS})
"""

#: One whose members are no functions.
PARTIAL = GENERATED.replace('made["capture_begin"]', "functools.partialmethod(made['capture_begin'])").replace(
    "import reference_impl", "import functools\n\nimport reference_impl", 1
)


STREAMS = "suites/replay/test_streams.py::test_consecutive_replays"
#: Adapters, by name: their text, and a test that their class fails.
ADAPTERS = {
    "overrides": (OVERRIDES, STREAMS),
    "whole": (WHOLE, STREAMS),
    "derived": (DERIVED, "suites/replay/test_addresses.py::test_once_for_each_call"),
    "generated": (GENERATED, STREAMS),
    "partial": (PARTIAL, STREAMS),
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder for each of the adapters, with the record of its run."""
    folders = {name: tmp_path_factory.mktemp(name) for name in ADAPTERS}
    commands = []
    for (text, test), folder in zip(ADAPTERS.values(), folders.values(), strict=True):
        shutil.copy(ROOT / "examples" / "eager_recorder" / "recorder.py", folder)
        (folder / "broken.py").write_text(BROKEN, encoding="utf-8")
        (folder / "own.py").write_text(text, encoding="utf-8")
        words = ["-q", "--tb=no", "--no-isolate", "-p", "no:cacheprovider", test]
        commands.append([f"--impl={folder / 'own.py'}:adapter", f"--record={folder / 'run.jsonl'}", *words])
    for ended in sessions(commands, tmp_path_factory.mktemp("said"), GRAPH_CONFORMANCE_TRY_SCRIPTS="1"):
        assert ended.status == 1, ended.output
    return folders


@pytest.mark.parametrize("name", ["overrides", "whole", "derived"])
def test_overrides_are_written_out(folders: dict[str, Path], name: str) -> None:
    for script in _shown(folders[name]):
        assert "import conformance" not in script
        assert "from conformance" not in script
        assert "capture_begin(" in script


@pytest.mark.parametrize("name", ["generated", "partial"])
def test_what_cannot_be_written_out_is_imported(folders: dict[str, Path], name: str) -> None:
    for script in _shown(folders[name]):
        assert script.count("# The adapter cannot be written out") == 1
        assert f"impl = named('{folders[name] / 'own.py'}:adapter', None, None)" in script
        assert "suites" not in script.partition("def reproduce")[2]


def _shown(folder: Path) -> list[str]:
    """The scripts of an adapter's failures, each of which shows its failure."""
    results = [result for result in read_record(folder / "run.jsonl").results if result.verdict.rejects]
    assert results
    for result in results:
        assert result.reproducer is not None, result.reproduction
        assert result.reproduction is not None
        assert result.reproduction["outcome"] == "shown", result.reproduction
    return [str(result.reproducer) for result in results]
