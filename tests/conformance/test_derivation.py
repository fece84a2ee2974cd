"""A graph class that nobody wrote an adapter for: what is taken from it, from torch and from its device."""

from __future__ import annotations

import sys
import textwrap
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from conformance.adapter import Adapter, ModuleAdapter
from conformance.adapter.derivation import device_for, dialect_for, visibly_absent
from conformance.adapter.device_module import GenericModule
from conformance.adapters import trial
from conformance.adapters.implementations import resolve, resolve_all
from conformance.errors import ImplementationError, NotDerived, Unsupported
from conformance.records.subject import Subject
from conformance.records.tested import remarks
from conformance.requirements.revisions import of_version


class Bare:
    def capture_begin(self) -> None: ...
    def capture_end(self) -> None: ...
    def replay(self) -> None: ...


class Pooled(Bare):
    def capture_begin(self, pool: Any = None) -> None: ...  # type: ignore[override]
    def pool(self) -> None: ...


class Moded(Bare):
    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None: ...  # type: ignore[override]


class Constructed(Bare):
    def __init__(self, keep_graph: bool = False, *, pool: Any = None) -> None: ...
    def instantiate(self) -> None: ...


class Block(Bare):
    def __enter__(self) -> None: ...
    def __exit__(self, *error: object) -> None: ...


class Opaque(Bare):
    def capture_begin(self, *arguments: Any, **settings: Any) -> None: ...


@pytest.mark.parametrize(
    ("cls", "dialect", "shown_by"),
    [
        (Bare, "cuda", "nothing in the signatures"),
        (Pooled, "xpu", "capture_begin takes pool, and no capture_error_mode"),
        (Moded, "cuda", "capture_begin takes capture_error_mode"),
        (Constructed, "accelerator", "the constructor takes pool"),
        (Block, "accelerator", "is a context manager"),
    ],
)
def test_the_dialect_is_that_of_the_signatures(cls: type, dialect: str, shown_by: str) -> None:
    found, why = dialect_for(cls)
    assert found == dialect
    assert shown_by in why


def test_what_a_class_does_not_show_is_absent() -> None:
    absent = visibly_absent(Bare)
    assert set(absent.values()) == {False}
    assert {"keep_graph", "pools", "capture_modes", "liveness", "hooks", "raw_handles", "template_editing"} <= {*absent}
    assert not {"rng", "threads", "fork_join", "memory_stats", "graphed_callables"} & {*absent}
    assert "keep_graph" not in visibly_absent(Constructed)
    assert "pools" not in visibly_absent(Pooled)
    assert "capture_modes" not in visibly_absent(Moded)
    assert "capture_modes" not in visibly_absent(Opaque), "what is passed on unseen may be anything"


@pytest.fixture
def accelerator(monkeypatch: pytest.MonkeyPatch) -> Iterator[types.ModuleType]:
    """A kind of device that torch knows: maia, which no wheel of torch has a module for."""
    module = types.ModuleType("torch.maia")
    vars(module)["is_available"] = lambda: True
    monkeypatch.setattr(torch, "maia", module, raising=False)
    monkeypatch.setitem(sys.modules, "torch.maia", module)
    torch.get_device_module.cache_clear()
    yield module
    torch.get_device_module.cache_clear()


def _of_module(name: str, qualname: str = "Graph") -> type:
    return type(qualname, (Bare,), {"__module__": name, "__qualname__": qualname})


def test_the_device_is_the_one_of_the_module(accelerator: types.ModuleType) -> None:
    for module in ("torch.maia", "torch.maia.graphs", "torch_maia.maia.graphs", "some_frameworks.torch.maia.graphs"):
        assert device_for(_of_module(module)) == torch.device("maia", 0), module
    for module in ("maia_graph", "mine.maia", "torch.accelerator.graphs"):
        assert device_for(_of_module(module)).type == "cpu", module


def test_the_device_is_the_one_of_the_name_where_it_is_there(
    accelerator: types.ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert device_for(_of_module("mine", "MAIAGraph")) == torch.device("maia", 0)
    monkeypatch.setattr(accelerator, "is_available", lambda: False)
    assert device_for(_of_module("mine", "MAIAGraph")).type == "cpu"


def test_the_device_is_the_current_accelerator_otherwise(
    accelerator: types.ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("maia", 1))
    assert device_for(Bare) == torch.device("maia", 1)


# -- the device module ------------------------------------------------------------------------------------------------


class Stream:
    def __init__(self, number: int = 0) -> None:
        self.number = number

    def is_capturing(self) -> bool:
        return self.number == 1

    def wait_stream(self, stream: Any) -> None: ...


@pytest.fixture
def generic(accelerator: types.ModuleType, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Torch's generic API on that device, and the stream that is current."""
    state: dict[str, Any] = {"current": Stream(0), "made": 0}

    def make(_: torch.device) -> Stream:
        state["made"] += 1
        return Stream(state["made"])

    def refuse() -> None:
        raise RuntimeError("INTERNAL ASSERT FAILED: no DeviceAllocator")

    monkeypatch.setattr(torch, "Stream", make)
    for name, value in {
        "current_accelerator": lambda: torch.device("maia"),
        "current_stream": lambda: state["current"],
        "set_stream": lambda stream: state.update(current=stream),
        "synchronize": lambda: None,
        "empty_cache": refuse,
        "memory_allocated": refuse,
    }.items():
        monkeypatch.setattr(torch.accelerator, name, value)
    return state


class OfMaia(Adapter):
    name, revision, graph_class = "maia", "2.14", Pooled
    device = torch.device("maia", 0)


def test_gaps_of_the_device_module_are_torchs_generic_api(
    accelerator: types.ModuleType, generic: dict[str, Any]
) -> None:
    own = OfMaia()
    first = own.default_stream()
    assert first.number == 0  # type: ignore[attr-defined]
    with own.stream(own.new_stream()):
        assert own.is_current_stream_capturing()
        assert own.default_stream() is first
    assert own.current_stream() is first
    assert not own.is_current_stream_capturing()
    vars(accelerator)["is_current_stream_capturing"] = lambda: True
    assert own.is_current_stream_capturing(), "the device's own comes first"


def test_a_device_without_an_allocator_of_torchs_has_nothing_cached(generic: dict[str, Any]) -> None:
    OfMaia().empty_cache()
    with pytest.raises(NotDerived, match=r"write memory_allocated\(\), or declare the capability 'memory_stats' False"):
        OfMaia().memory_allocated()


def test_a_context_manager_is_made_where_there_is_none(accelerator: types.ModuleType, generic: dict[str, Any]) -> None:
    own, calls = OfMaia(), []

    class Noting(Pooled):
        def capture_begin(self, pool: Any = None) -> None:  # type: ignore[override]
            calls.append(("begin", pool, own.current_stream().number))  # type: ignore[attr-defined]

        def capture_end(self) -> None:
            calls.append("end")

    with own.capture(Noting(), pool="token"):
        calls.append("body")
    assert calls == [("begin", "token", 1), "body", "end"]
    assert generic["current"].number == 0
    with pytest.raises(Unsupported, match="no function graph besides its class"):
        own.need_own("graph")
    assert not own.has_own("graph")
    vars(accelerator)["graph"] = lambda graph: "block"
    own.need_own("graph")
    assert own.has_own("graph")


def test_a_module_of_another_device_than_torchs_accelerator_is_left_alone(generic: dict[str, Any]) -> None:
    module = types.SimpleNamespace()
    assert ModuleAdapter("mine", module, Bare, device="cpu", revision="2.8").module is module
    own = ModuleAdapter("mine", module, Bare, device="maia", revision="2.8").module
    assert own.own is module
    assert isinstance(own.generic, GenericModule)


def test_what_nothing_gives_is_the_adapters_to_write() -> None:
    class OnHost(Adapter):
        name, revision, graph_class = "host", "2.14", Bare

    own = OnHost()
    for call, member in ((own.memory_reserved, "memory_reserved"), (_make(own), "make_graphed_callables")):
        with pytest.raises(NotDerived, match=rf"write {member}\(\)"):
            call()
    for unknown in (own.is_current_stream_capturing, own.new_stream, own.new_mem_pool, own.memory_snapshot):
        with pytest.raises(Unsupported):
            unknown()
    assert own.recover() is None
    assert own.pinned([1.0]).tolist() == [1.0]


def _make(own: Adapter) -> Callable[[], Any]:
    return lambda: own.make_graphed_callables(abs, ())


# -- a stranger's class -----------------------------------------------------------------------------------------------

STRANGER = """
    class Recorder:
        def __init__(self):
            self.work = []

        def capture_begin(self):
            self.work.clear()

        def capture_end(self): ...

        def replay(self):
            for function in self.work:
                function()
"""


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A class in a file, which derives from nothing."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "stranger.py").write_text(textwrap.dedent(STRANGER), encoding="utf-8")
    return "stranger.py:Recorder"


def test_a_strangers_class_needs_no_adapter(stranger: str) -> None:
    (own,) = resolve_all([stranger]).values()
    assert own.name == stranger
    assert (own.device.type, own.dialect, own.needs_side_stream) == ("cpu", "cuda", False)
    assert own.revision == of_version(torch.__version__)
    assert own.capabilities["memory_stats"] is own.capabilities["fork_join"] is own.capabilities["hooks"] is False
    assert "rng" not in own.capabilities
    for replay in (trial.replay, trial.replay_through_the_context):
        # Its operators run at once, and its replay has nothing to run.
        assert replay(own) == trial.Trial(trial.EXPECTED, trial.EXPECTED, told=None)


def test_what_was_derived_is_in_the_record(stranger: str) -> None:
    own = resolve(stranger)
    (_, derived) = remarks(Subject.of(own, stranger).environment)
    assert "no adapter is written for Recorder: it is tried on the device cpu" in derived
    assert "as the dialect cuda, since nothing in the signatures" in derived
    assert " capabilities, declared absent, that neither it nor its device shows" in derived
    assert "in place of a context manager" in derived


def test_the_device_of_a_strangers_class_can_be_given(stranger: str) -> None:
    assert resolve(stranger, device="cpu:0").device == torch.device("cpu:0")
    with pytest.raises(ImplementationError, match="torch has no module for the device meta"):
        resolve(stranger, device="meta")
    with pytest.raises(ImplementationError, match="'nowhere' is no device"):
        resolve(stranger, device="nowhere")
