"""From a row of `VENDORS` to an adapter."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import torch

from conformance.adapter import Adapter
from conformance.adapter.device_module import GenericModule, completed
from conformance.errors import ImplementationError, Unavailable, Unsupported, one_line
from conformance.requirements.revisions import Revision, of_version

if TYPE_CHECKING:
    from conformance.adapters.vendors import Vendor


class VendorAdapter(Adapter):
    """An adapter with what a vendor's functions do otherwise than torch.cuda's."""

    def __init__(self, vendor: Vendor, graph_class: type, device: torch.device, module: Any) -> None:
        revision = Revision(of_version(torch.__version__))
        self.name = vendor.name
        self.graph_class = graph_class
        self.device = device
        self.module = module
        self.dialect = vendor.dialect
        self.revision = str(revision if vendor.newest is None else min(revision, Revision(vendor.newest)))
        self.capabilities = dict.fromkeys(vendor.absent, False)
        self.visible_devices = vendor.visible_devices
        self.default_mode = vendor.default_mode

    def device_count(self) -> int:
        """Devices of this kind that the process sees."""
        return int(self.module.device_count())

    def environment(self) -> dict[str, str]:
        """The device's name, and the version of the vendor's package."""
        name = getattr(self.module, "get_device_name", None)
        return {} if name is None else {"device": str(name(self.device))}


class NeedsPool(VendorAdapter):
    """For a class whose captures need a pool to be named: a fresh one where a test names none."""

    def capture_begin(
        self, graph: Any, *, pool: Any = None, mode: str | None = None, liveness: bool | None = None
    ) -> None:
        token = self.graph_pool_handle() if pool is None else pool
        super().capture_begin(graph, pool=token, mode=mode, liveness=liveness)


class WithoutPoolForCallables(VendorAdapter):
    """For a make_graphed_callables that takes no pool."""

    def make_graphed_callables(self, callables: Any, sample_args: tuple[Any, ...], **settings: Any) -> Any:
        if "pool" in settings:
            raise Unsupported(f"{self.name}.make_graphed_callables takes no pool")
        return super().make_graphed_callables(callables, sample_args, **settings)


def make(vendor: Vendor, device: str | None) -> Adapter:
    """See `Vendor`."""
    _import(vendor)
    where = _device(vendor, device)
    generic = GenericModule(where)
    own: Any = generic if vendor.device is None else torch.get_device_module(where)
    place: Any = torch.accelerator if vendor.device is None else own
    graph_class = getattr(place, vendor.graph_class, None)
    if not isinstance(graph_class, type):
        raise Unavailable(f"{vendor.name} has no {vendor.graph_class} here (torch {torch.__version__})")
    _make_current(own, where)
    kind: type[VendorAdapter] = VendorAdapter
    if vendor.needs_pool:
        kind = NeedsPool
    elif vendor.not_taken:
        kind = WithoutPoolForCallables
    return kind(vendor, graph_class, where, generic if own is generic else completed(own, where))


def _import(vendor: Vendor) -> None:
    if vendor.package is None:
        return
    try:
        importlib.import_module(vendor.package)
    except ModuleNotFoundError as error:
        if error.name is not None and (vendor.package + ".").startswith(error.name + "."):
            raise Unavailable(f"the package {vendor.package} is not installed") from None
        raise Unavailable(f"importing {vendor.package} failed: {one_line(error)}") from None
    except (Exception, SystemExit) as error:
        raise Unavailable(f"importing {vendor.package} failed: {one_line(error)}") from None


def _device(vendor: Vendor, name: str | None) -> torch.device:
    """The device that is asked for, once it is known to be there.

    Raises:
        ImplementationError: it is another vendor's.
        Unavailable: there is none.
    """
    kind = vendor.device or _current_accelerator(vendor)
    try:
        wanted = torch.device(kind if name is None else name)
    except RuntimeError:
        if name is None:
            raise Unavailable(f"torch knows no devices called {kind!r} here") from None
        raise ImplementationError(f"{name!r} is no device") from None
    if wanted.type != kind:
        raise ImplementationError(f"{vendor.name} runs on {kind} or {kind}:N, not on {name!r}")
    count = _count(vendor, kind)
    if (wanted.index or 0) >= count:
        raise Unavailable(f"torch sees {count or 'no'} {kind} device{'s' * (count != 1)} on this machine")
    return torch.device(kind, wanted.index or 0)


def _current_accelerator(vendor: Vendor) -> str:
    if not hasattr(getattr(torch, "accelerator", None), vendor.graph_class):
        raise Unavailable(f"torch {torch.__version__} has no {vendor.name}.{vendor.graph_class}")
    current = torch.accelerator.current_accelerator()
    if current is None:
        raise Unavailable("torch sees no accelerator on this machine")
    return current.type


def _count(vendor: Vendor, kind: str) -> int:
    try:
        module = torch.get_device_module(kind)
        return int(module.device_count()) if module.is_available() else 0
    except Exception as error:  # the vendor's own code, or a kind of device without a module
        raise Unavailable(f"{vendor.name} cannot be asked for its devices: {one_line(error)}") from None


def _make_current(module: Any, device: torch.device) -> None:
    choose = getattr(module, "set_device", None)
    if choose is not None:
        choose(device)
    elif hasattr(torch, "accelerator"):
        torch.accelerator.set_device_index(device.index)
