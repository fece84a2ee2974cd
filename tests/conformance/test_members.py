"""An adapter's own faults: told before the first test, all of them at once, and none where there is none."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import pytest

from conformance import start  # noqa: F401 - before pytester takes stock of modules
from conformance.adapters.implementations import KNOWN, resolve_all
from conformance.errors import ImplementationError
from conformance.records.verdicts import Verdict
from tests.conformance.conftest import Kit

pytest_plugins = ["pytester"]

VENDOR = """
    import contextlib

    import torch

    import reference_impl
    from conformance.adapter import Adapter
    from conformance.errors import NotDerived, Unsupported
    from conformance.adapters.reference import OnHost


    def made(kind=OnHost, module=reference_impl, **values):
        adapter = kind("vendor", module, reference_impl.CUDAGraph, device="cpu", revision="2.14")
        vars(adapter).update(values)
        return adapter


    class Part:
        def __init__(self, without):
            self.without = without

        def __getattr__(self, name):
            if name == self.without:
                raise AttributeError(f"no {name}", name=name, obj=self)
            return getattr(reference_impl, name)


    def no_synchronize(): return made(module=Part("synchronize"))
    def no_capturing(): return made(module=Part("is_current_stream_capturing"))


    class Lots:
        def memory_allocated(self): return "lots"
        def __getattr__(self, name): return getattr(reference_impl, name)

    class Slips(OnHost):
        def memory_allocated(self): return "lots"
        def capture_begin(self, graph, **settings):
            graph.capture_begin(**settings)
            graph.instatiate()
        def capture(self, graph, **settings): return self.module.grahp(graph)


    def slips(): return made(Slips, module=Part("is_current_stream_capturing"))
    def lots(): return made(module=Lots())


    class Synchronise(Adapter):
        name, revision, graph_class = "vendor", "2.14", reference_impl.CUDAGraph
        def current_stream(self): return 1
        def stream(self, stream): return contextlib.nullcontext()
        def is_current_stream_capturing(self): return False
        def synchronise(self): ...

    class Five(OnHost):
        def environment(self): return {"driver": 5}
        def current_stream(self): return self.module.curent_stream()
        def memory_allocated(self): return "lots"
        def is_current_stream_capturing(self): return "no"
        def read(self, tensor): return super().read(tensor).tolist()

    class NewStraem(Synchronise):
        def synchronize(self): ...
        def new_straem(self): ...

    # -- right ones

    class FewStreams(OnHost):
        def new_stream(self): raise Unsupported("there are no more")

    class NoTensors(Adapter):
        name, revision, graph_class = "vendor", "2.14", reference_impl.CUDAGraph
        def current_stream(self): return 1
        def stream(self, stream): return contextlib.nullcontext()
        def is_current_stream_capturing(self): return False
        def synchronize(self): ...

    class Bare(NoTensors):
        def new_stream(self): raise NotDerived("new_stream")
        def graph_pool_handle(self): raise NotDerived("graph_pool_handle", "pools")

    class Declines(NoTensors):
        capabilities = {"pools": False, "memory_stats": False}
        needs_side_stream = False

    class Helpers(NoTensors):
        streams = ()
        def new_streams(self): ...
        def full_like(self): ...
        def capture_end(self): ...

    class OutOfMemory(OnHost):
        def full(self, shape, value, dtype=None):
            raise torch.OutOfMemoryError("process 4711 has 78 GiB in use")

    class Raises(reference_impl.CUDAGraph):
        def capture_begin(self, *settings, **named): raise RuntimeError("no capture today")

    def few_streams(): return made(FewStreams)
    def out_of_memory(): return made(OutOfMemory)
    def five(): return made(Five)
    def wrong_class(): return made(graph_class=Raises)
    def no_context(): return made(module=Part("graph"))

    class NoEnd(reference_impl.CUDAGraph):
        def capture_end(self): raise RuntimeError("no end today")

    class Misspelt(reference_impl.CUDAGraph):
        def replay(self): self.instatiate()
"""
FAULTS = [
    ("no_synchronize", ["synchronize raised AttributeError: no synchronize at "]),
    ("no_capturing", ["is_current_stream_capturing raised AttributeError: no is_current_stream_capturing at "]),
    ("NewStraem", ["no adapter has a member 'new_straem'; did you mean 'new_stream'? at "]),
    ("lots", ["memory_allocated raised ValueError: invalid literal for int() with base 10: 'lots' at "]),
    (
        "slips",
        [
            "is_current_stream_capturing raised AttributeError: no is_current_stream_capturing at ",
            "memory_allocated gives str 'lots', which is not an int at ",
            "'CUDAGraph' object has no attribute 'instatiate'; did you mean 'instantiate'? at ",
            "capture raised AttributeError: module 'reference_impl' has no attribute 'grahp'; did you mean ",
        ],
    ),
    (
        "five",
        [
            "environment gives dict {'driver': 5}, which is not a dictionary of strings at ",
            "did you mean 'current_stream'? at ",
            "is_current_stream_capturing gives str 'no', which is not a bool at ",
            "memory_allocated gives str 'lots', which is not an int at ",
            "read gives list [1.0, 1.0], which is not a tensor on the host with the values that were written, 1.0 at ",
        ],
    ),
]


@pytest.fixture(autouse=True)
def vendor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file with all of them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    file = tmp_path / "vendor.py"
    file.write_text(textwrap.dedent(VENDOR), encoding="utf-8")
    return file


@pytest.mark.parametrize(("attribute", "faults"), FAULTS, ids=[attribute for attribute, _ in FAULTS])
def test_all_faults_are_told_at_once_with_their_places(vendor: Path, attribute: str, faults: list[str]) -> None:
    with pytest.raises(ImplementationError) as refusal:
        resolve_all([f"vendor.py:{attribute}"])
    text = str(refusal.value)
    assert text.startswith(f"--impl=vendor.py:{attribute}: the adapter is wrong:")
    for fault in faults:
        assert fault in text
    # One alone stands on the first line, several on lines of their own.
    lines = text.splitlines()
    assert len(lines[1:] or lines) == len(faults)
    assert all(f" at {vendor}, line " in line for line in lines[1:] or lines)


def test_what_is_misspelt_is_told_though_there_is_a_default() -> None:
    with pytest.raises(ImplementationError) as refusal:
        resolve_all(["vendor.py:Synchronise"])
    assert "no adapter has a member 'synchronise'; did you mean 'synchronize'? at " in str(refusal.value)


@pytest.mark.parametrize(
    "attribute",
    [
        "few_streams",
        "NoTensors",
        "Helpers",
        "out_of_memory",
        "wrong_class",
        "no_context",
        "NoEnd",
        "Misspelt",
    ],
)
def test_no_fault_of_the_adapter_is_none(attribute: str) -> None:
    assert len(resolve_all([f"vendor.py:{attribute}"])) == 1


@pytest.mark.parametrize("name", [name for name in KNOWN if name.startswith("reference")])
def test_the_kits_own_adapters_have_none(name: str) -> None:
    assert list(resolve_all([name])) == [name]


@pytest.mark.parametrize("where", ["--no-isolate", "--isolate"])
def test_a_session_ends_before_its_first_test(kit: Kit, where: str) -> None:
    file = kit.folder / "fake.py"
    file.write_text(file.read_text(encoding="utf-8").replace("def synchronize", "def synchronise"), encoding="utf-8")
    kit.tests("""
        @requirement("alpha.plain")
        def test_it(impl): ...
    """)
    result = kit.run(where)
    assert result.ret == 4
    text = result.stdout.str() + result.stderr.str()
    assert text.count("did you mean 'synchronize'?") == 1
    assert "passed" not in text
    assert "failed" not in text


def test_what_only_the_suites_need_is_told_where_they_are_to_run() -> None:
    assert resolve_all(["vendor.py:Bare"])
    with pytest.raises(ImplementationError) as refusal:
        resolve_all(["vendor.py:Bare"], suites=True)
    lines = str(refusal.value).splitlines()[1:]
    told = {line.split("it has no ")[1].split("(")[0]: line for line in lines}
    assert sorted(told) == ["graph_pool_handle", "memory_allocated", "memory_reserved", "new_stream"]
    assert told["new_stream"].endswith("; write `def new_stream(self): return backend.Stream()`")
    assert told["graph_pool_handle"].endswith('backend.graph_pool_handle()`, or declare capabilities={"pools": False}')


def test_a_device_without_a_stream_to_capture_on_is_told_where_the_suites_are_to_run() -> None:
    with pytest.raises(ImplementationError) as refusal:
        resolve_all(["vendor.py:few_streams"], suites=True)
    assert "no graph can be captured: there are no more; write new_stream, or `needs_side" in str(refusal.value)


def test_what_is_declared_absent_need_not_be_there() -> None:
    assert resolve_all(["vendor.py:Declines"], suites=True)


def test_a_missing_method_after_a_test_is_the_adapters_fault(kit: Kit) -> None:
    """Also where nobody looked before: the session goes on after a worker that died of it, for example."""
    file = kit.folder / "fake.py"
    file.write_text(
        file.read_text(encoding="utf-8")
        + textwrap.dedent("""
            class Late(Fake):
                ready = False
                def recover(self):
                    return Adapter.memory_allocated(self) if self.ready else None
        """),
        encoding="utf-8",
    )
    kit.tests("""
        @requirement("alpha.one")
        def test_it(impl):
            impl.ready = True

        @requirement("beta.pooled")
        def test_declined(impl): ...

        @requirement("alpha.two")
        def test_again(impl):
            fail("two", "none")
    """)
    result, record = kit.recorded(impl="fake.py:Late")
    assert result.ret == 3
    assert {outcome.verdict for outcome in record.results} == {Verdict.ERROR}
    message = "the adapter 'fake' has no memory_allocated(), which is called after each test: write it"
    assert [outcome.message for outcome in record.results] == [message] * 3
