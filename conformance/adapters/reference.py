"""The kit's own implementation, found by name like anybody else's."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Mapping
from typing import Any

import torch

from conformance.adapter import Adapter, Dialect, ModuleAdapter
from conformance.adapters.torch_cuda import OnCuda, driver_numbers_nodes
from conformance.errors import ImplementationError
from conformance.paths import use_own

_MODULE = "reference_impl"


class OnHost(ModuleAdapter):
    """The software device's tensors are CPU tensors at addresses of its allocator's choosing, so it makes them.

    Attributes:
        asynchronous: whether each test has a session, in which work waits in its stream until somebody needs it done.
    """

    asynchronous = False

    def tensor(self, data: Any, dtype: torch.dtype | None = None) -> torch.Tensor:
        return self.module.tensor(data, dtype=dtype)  # type: ignore[no-any-return]

    def pinned(self, data: Any, dtype: torch.dtype | None = None) -> torch.Tensor:
        return self.module.pinned(torch.as_tensor(data, dtype=dtype))  # type: ignore[no-any-return]

    @property
    def script_words(self) -> Mapping[str, str]:  # type: ignore[override]
        """The session of the test, where there is one, and how values are read then."""
        if not self.asynchronous:
            return {"read": "tensor.detach().to('cpu', copy=True)"}
        return {"setup": f"backend.session({self.seed} + turn)", "read": "backend.read(tensor)"}

    def around_test(self) -> contextlib.AbstractContextManager[Any]:
        if not self.asynchronous:
            return contextlib.nullcontext()
        session: contextlib.AbstractContextManager[Any] = self.module.session(self.seed)
        return session

    def read(self, tensor: torch.Tensor) -> torch.Tensor:
        if not self.asynchronous:
            return super().read(tensor)
        self.synchronize()
        return self.module.read(tensor)  # type: ignore[no-any-return]


def asynchronous(device: str = "cpu") -> Adapter:
    """The reference's ``CUDAGraph`` on the software device, asynchronous as a GPU is; otherwise as `adapter`."""
    if torch.device(device).type != "cpu":
        raise ImplementationError(
            "reference.asynchronous runs on the software device only; a GPU is asynchronous anyway"
        )
    face = _face("reference.asynchronous", _MODULE, "CUDAGraph", "cuda", device)
    assert isinstance(face, OnHost)
    face.asynchronous = True
    return face


def adapter(device: str = "cpu") -> Adapter:
    """The reference's ``CUDAGraph`` on `device`: ``cpu`` (the software device), ``cuda`` or ``cuda:N``.

    Raises:
        ImplementationError: it is not installed, or there is no such device.
    """
    return _face("reference", _MODULE, "CUDAGraph", "cuda", device)


def xpu(device: str = "cpu") -> Adapter:
    """The reference's ``XPUGraph``; otherwise as `adapter`."""
    return _face("reference.xpu", f"{_MODULE}.xpu", "XPUGraph", "xpu", device)


def accelerator(device: str = "cpu") -> Adapter:
    """The reference's ``Graph``; otherwise as `adapter`."""
    return _face("reference.accelerator", f"{_MODULE}.accelerator", "Graph", "accelerator", device)


def _face(name: str, module_name: str, class_name: str, dialect: Dialect, device: str) -> Adapter:
    use_own(_MODULE)
    try:
        importlib.import_module(_MODULE).use_device(device)
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name != _MODULE:
            raise
        raise ImplementationError(f"the package {_MODULE} is not installed") from None
    except (RuntimeError, ValueError) as error:
        raise ImplementationError(f"the device {device!r} cannot be used: {error}") from None
    on_host = torch.device(device).type == "cpu"
    if on_host:
        # The suites' tensors are small: waiting for other threads takes longer than the work.
        torch.set_num_threads(1)
    runtime = module.cudart()
    # On a GPU, torch's own generator refuses to be captured by anything but torch's own class.
    capabilities = {} if on_host else {"rng": False, "graph_data": driver_numbers_nodes(runtime)}
    kind: type[ModuleAdapter] = OnHost if on_host else OnCuda
    face = kind(
        name,
        module,
        getattr(module, class_name),
        device=device,
        dialect=dialect,
        revision="2.14",
        runtime=runtime,
        capabilities=capabilities,
    )
    if not on_host:
        face.script_words = {"use": f"import reference_impl\nreference_impl.use_device({device!r})"}
    return face
