"""The adapters of the vendors' classes, on a kind of device that torch knows and has no module for."""

from __future__ import annotations

import ctypes
import dataclasses
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from conformance.adapters import availability, hip, torch_cuda, vendors
from conformance.adapters.implementations import KNOWN, check
from conformance.adapters.vendors import VENDORS, Vendor
from conformance.errors import ImplementationError, Unavailable, Unsupported
from conformance.requirements.vocabulary import CAPABILITIES, DIALECTS


class Graph:
    def capture_begin(self, **settings: Any) -> None:
        self.settings = settings

    def capture_end(self) -> None: ...
    def replay(self) -> None: ...


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Iterator[types.ModuleType]:
    """A device module with two devices and every vendor's class."""
    made = types.ModuleType("torch.maia")
    vars(made).update(
        is_available=lambda: True,
        device_count=lambda: 2,
        set_device=lambda device: vars(made).update(chosen=device),
        get_device_name=lambda device: f"Maia {device.index}",
        graph_pool_handle=lambda: (0, 7),
        make_graphed_callables=lambda callables, samples, **settings: (callables, settings),
        **{vendor.graph_class: type(vendor.graph_class, (Graph,), {}) for _, vendor in VENDORS},
    )
    monkeypatch.setattr(torch, "maia", made, raising=False)
    for package in ("torch.maia", "torch_maia"):
        monkeypatch.setitem(sys.modules, package, made)
    torch.get_device_module.cache_clear()
    yield made
    torch.get_device_module.cache_clear()


def on_maia(vendor: Vendor) -> Vendor:
    return dataclasses.replace(vendor, device="maia", package=vendor.package and "torch_maia")


OWN_DEVICE = [vendor for _, vendor in VENDORS if vendor.device is not None]


@pytest.mark.parametrize(("attribute", "vendor"), VENDORS)
def test_a_row_is_found_by_its_name_and_by_its_class(attribute: str, vendor: Vendor) -> None:
    assert getattr(vendors, attribute) is vendor
    assert KNOWN[vendor.name].factory == f"conformance.adapters.vendors:{attribute}"
    cls = type(vendor.graph_class, (), {"__module__": f"{vendor.defined_in}.graphs"})
    assert [name for name, known in KNOWN.items() if known.defines(cls)] == [vendor.name]
    assert {*vendor.absent} <= {*CAPABILITIES}
    assert vendor.dialect in DIALECTS


@pytest.mark.parametrize("vendor", OWN_DEVICE, ids=lambda vendor: vendor.name)
def test_an_adapter_is_made_where_the_device_is(vendor: Vendor, module: types.ModuleType) -> None:
    adapter = on_maia(vendor)("maia:1")
    check(vendor.name, adapter)
    assert (adapter.name, adapter.dialect, adapter.device) == (vendor.name, vendor.dialect, torch.device("maia", 1))
    assert adapter.graph_class is getattr(module, vendor.graph_class)
    assert vars(module)["chosen"] == adapter.device
    assert adapter.environment() == {"device": "Maia 1"}
    assert adapter.device_count() == 2
    assert adapter.capabilities == dict.fromkeys(vendor.absent, False)


@pytest.mark.parametrize(("version", "revision"), [("2.5.1", "2.5"), ("2.13.0", "2.7")])
def test_a_copy_of_an_older_class_claims_no_later_release(
    version: str, revision: str, module: types.ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.__version__", version)
    assert on_maia(vendors.npu)().revision == revision
    assert on_maia(vendors.xpu)().revision == version.rpartition(".")[0]


def test_a_pool_is_given_where_a_capture_needs_one(module: types.ModuleType) -> None:
    adapter = on_maia(vendors.mtia)()
    graph = adapter.new_graph()
    adapter.capture_begin(graph)
    assert graph.settings == {"pool": (0, 7)}
    adapter.capture_begin(graph, pool=(1, 2))
    assert graph.settings == {"pool": (1, 2)}


def test_a_pool_that_graphed_callables_do_not_take_is_not_asked_for(module: types.ModuleType) -> None:
    adapter = on_maia(vendors.musa)()
    assert adapter.make_graphed_callables(abs, (), num_warmup_iters=3) == (abs, {"num_warmup_iters": 3})
    with pytest.raises(Unsupported, match="takes no pool"):
        adapter.make_graphed_callables(abs, (), pool=(0, 7))
    with_pool = on_maia(vendors.npu)()
    assert with_pool.make_graphed_callables(abs, (), pool=(0, 7)) == (abs, {"pool": (0, 7)})


def test_the_accelerators_adapter_is_made_of_the_generic_api(
    module: types.ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("maia"))
    monkeypatch.setattr(torch.accelerator, "set_device_index", lambda index: None)
    monkeypatch.setattr(torch.accelerator, "device_count", lambda: 2)
    monkeypatch.setattr(torch.accelerator, "synchronize", lambda: vars(module).update(waited=True))
    adapter = vendors.accelerator()
    assert adapter.graph_class is torch.accelerator.Graph
    assert (adapter.dialect, adapter.device) == ("accelerator", torch.device("maia", 0))
    adapter.synchronize()
    assert vars(module)["waited"]
    # There is no generic call for it, so it is the device's own where there is one.
    with pytest.raises(Unsupported, match="the device module has no memory_snapshot"):
        adapter.memory_snapshot()
    vars(module)["memory_snapshot"] = lambda: ({"address": 7},)
    assert adapter.memory_snapshot() == [{"address": 7}]


# -- what is not here -------------------------------------------------------------------------------------------------


def _without(name: str) -> Callable[[types.ModuleType], None]:
    return lambda module: delattr(module, name)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_without("NPUGraph"), r"torch\.npu has no NPUGraph here"),
        (_without("device_count"), r"torch\.npu cannot be asked for its devices: AttributeError"),
        (lambda module: vars(module).update(is_available=lambda: False), "torch sees no maia devices"),
        (lambda module: vars(module).update(device_count=lambda: 0), "torch sees no maia devices"),
    ],
)
def test_what_is_not_here_is_said(
    change: Callable[[types.ModuleType], None], reason: str, module: types.ModuleType
) -> None:
    change(module)
    with pytest.raises(Unavailable, match=reason):
        on_maia(vendors.npu)()


@pytest.mark.parametrize(
    ("device", "reason"),
    [
        ("maia:2", "torch sees 2 maia devices"),
        ("cpu", r"torch\.npu runs on maia or maia:N, not on 'cpu'"),
        ("nowhere", "'nowhere' is no device"),
    ],
)
def test_a_device_that_cannot_be_is_refused(device: str, reason: str, module: types.ModuleType) -> None:
    with pytest.raises(ImplementationError, match=reason):
        on_maia(vendors.npu)(device)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import nothing_of_this_name", "importing torch_broken failed: ModuleNotFoundError: No module named 'nothing"),
        ("raise OSError('libbroken.so: no such file')", "importing torch_broken failed: OSError: libbroken.so"),
        ("import sys; sys.exit('no driver')", "importing torch_broken failed: SystemExit: no driver"),
    ],
)
def test_a_broken_package_is_named(code: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "torch_broken.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(Unavailable, match=reason):
        dataclasses.replace(vendors.npu, package="torch_broken")()
    sys.modules.pop("torch_broken", None)


def test_a_missing_package_is_named() -> None:
    with pytest.raises(Unavailable, match=r"^the package torch_npu is not installed$"):
        vendors.npu()


# -- the list ---------------------------------------------------------------------------------------------------------


def test_the_list_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert availability.here("reference").startswith("usable, as cuda 2.14 on cpu")
    assert "torch sees no CUDA GPU" in availability.here("torch.cuda")
    assert availability.here("torch.hpu") == "the package habana_frameworks.torch is not installed"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import os; os.abort()", "ended the process with status -6"),
        ("raise OSError('libbroken.so')", "importing torch_npu failed: OSError: libbroken.so"),
    ],
)
def test_a_package_that_takes_its_process_with_it_does_not_take_the_list(
    code: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "torch_npu.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
    assert reason in availability.here("torch.npu")


# -- what calls itself cuda -------------------------------------------------------------------------------------------


class Runtime(types.ModuleType):
    """A runtime whose raw allocation gives this error."""

    def __init__(self, error: int) -> None:
        super().__init__("cuda.bindings.runtime")
        self.error = error
        self.cudaError_t = types.SimpleNamespace(cudaErrorMemoryAllocation=2)
        self.freed: list[int] = []

    def cudaMalloc(self, size: int) -> tuple[int, int]:  # noqa: N802  # CUDA's name
        return self.error, size

    def cudaFree(self, pointer: int) -> None:  # noqa: N802
        self.freed.append(pointer)

    def cudaDriverGetVersion(self) -> tuple[int, int]:  # noqa: N802
        return 0, 13020


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """The adapter of torch.cuda where torch was built for this, and NVIDIA's runtime gives this error."""
    for name, value in (("is_available", lambda: True), ("device_count", lambda: 1), ("set_device", lambda _: None)):
        monkeypatch.setattr(f"torch.cuda.{name}", value)

    def adapter(error: int = 0, **versions: str | None) -> Any:
        for name in ("cuda", "hip"):
            monkeypatch.setattr(f"torch.version.{name}", versions.get(name))
        monkeypatch.setitem(sys.modules, "cuda.bindings.runtime", Runtime(error))
        return torch_cuda.adapter()

    return adapter


@pytest.mark.parametrize(("error", "believed"), [(0, True), (2, True), (35, False), (999, False)])
def test_nvidias_runtime_is_believed_where_it_gives_memory(
    cuda: Callable[..., Any], error: int, believed: bool
) -> None:
    adapter = cuda(error, cuda="13.0")
    assert (adapter.runtime is not None) == believed
    assert adapter.capabilities["template_editing"] == believed
    if error == 0:
        assert adapter.runtime.freed == [256]


def test_a_torch_that_was_not_built_for_cuda_has_no_runtime_of_nvidias(cuda: Callable[..., Any]) -> None:
    assert cuda().runtime is None


class Hip:
    """HIP's functions, which know one address."""

    class _Name:
        restype: Any = None

        def __call__(self, error: int) -> bytes:
            return f"hipError{error}".encode()

    def __init__(self) -> None:
        self.error = 0
        self.freed: list[int | None] = []
        self.hipGetErrorName = self._Name()

    def hipMalloc(self, pointer: Any, size: ctypes.c_size_t) -> int:  # noqa: N802  # HIP's names
        pointer._obj.value = 0x7000
        return self.error

    def hipFree(self, pointer: ctypes.c_void_p) -> int:  # noqa: N802
        self.freed.append(pointer.value)
        return 0


def test_rocm_allocates_through_hip(cuda: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    library = Hip()
    monkeypatch.setattr(hip, "_library", lambda: library)
    adapter = cuda(hip="6.4")
    assert adapter.runtime is None
    assert adapter.capabilities["template_editing"] is False
    monkeypatch.setattr(adapter, "module", types.SimpleNamespace(is_current_stream_capturing=bool, synchronize=bool))
    adapter.unsafe_call()
    assert adapter.recover() is None
    assert library.freed == [0x7000]
    library.error = 900
    with pytest.raises(RuntimeError, match="hipMalloc: hipError900"):
        adapter.unsafe_call()


def test_without_hips_library_there_is_no_raw_allocation(
    cuda: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    hip._library.cache_clear()
    monkeypatch.setattr(hip, "_LIBRARIES", ("libnothing_of_this_name.so",))
    with pytest.raises(Unsupported, match=r"HIP's library cannot be found .*libnothing_of_this_name\.so"):
        cuda(hip="6.4").unsafe_call()
