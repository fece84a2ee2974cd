"""An adapter for a graph class that nobody wrote one for: torch's generic API, and what the class says of itself."""

from __future__ import annotations

from typing import Any

import torch

from conformance.adapter import Adapter
from conformance.adapter.derivation import device_for, dialect_for, visibly_absent
from conformance.adapter.device_module import stands_in
from conformance.errors import ImplementationError, NotDerived
from conformance.requirements.revisions import of_version
from conformance.requirements.vocabulary import CAPABILITIES


class DerivedAdapter(Adapter):
    """Any class with capture_begin, capture_end and replay, on its device, or on the host where torch sees none.

    Args:
        name: of the implementation.
        graph_class: to test.
        device: instead of the one that the class is named after, or that torch prefers.

    Raises:
        ImplementationError: `device` is none.
    """

    def __init__(self, name: str, graph_class: type, device: str | None = None) -> None:
        self.name = name
        self.graph_class = graph_class
        self.device = device_for(graph_class) if device is None else _device(device)
        self.dialect, shown_by = dialect_for(graph_class)
        self.revision = of_version(torch.__version__)
        self.capabilities = {**visibly_absent(graph_class), **_absent_of_device(self._found_module())}
        self.needs_side_stream = self.device.type != "cpu"
        self.derivation = (
            f"no adapter is written for {graph_class.__qualname__}: it is tried on the device {self.device}",
            f"as the dialect {self.dialect}, since {shown_by}",
            f"as of {self.revision}, the release of the installed torch",
            *self._made_up(),
            f"without {len(self._left_out())} capabilities, declared absent, that neither it nor its device shows",
        )

    def _found_module(self) -> Any:
        try:
            return self.module
        except NotDerived:
            message = f"torch has no module for the device {self.device}, and another accelerator: write an adapter"
            raise ImplementationError(message) from None

    def _left_out(self) -> list[str]:
        """The capabilities that a class of this dialect could have and that are declared absent."""
        return [
            name
            for name, value in self.capabilities.items()
            if not value and CAPABILITIES[name].begun_in(self.revision, self.dialect)
        ]

    def _made_up(self) -> list[str]:
        """What the kit does itself, since the implementation does not."""
        if self.dialect == "accelerator" or not stands_in(self.module, "graph"):
            return []
        return ["with capture_begin and capture_end in place of a context manager, which is not asked for"]


def _device(name: str) -> torch.device:
    try:
        return torch.device(name)
    except RuntimeError:
        raise ImplementationError(f"{name!r} is no device") from None


def _absent_of_device(module: Any) -> dict[str, bool]:
    """Declarations for what the device has no means for, and torch's generic API no substitute."""
    absent = {}
    if stands_in(module, "make_graphed_callables"):
        absent["graphed_callables"] = False
    try:
        module.memory_allocated(), module.memory_reserved()
    except Exception:  # whatever it is, there are no numbers
        absent["memory_stats"] = False
    if getattr(module, "one_stream", False):
        absent["fork_join"] = False
    return absent
