"""The device module of an implementation: PyTorch's own for its device, and torch's generic API where that has gaps."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

from conformance.errors import NotDerived, Unsupported

if TYPE_CHECKING:
    import torch


class GenericModule:
    """A device module shaped like ``torch.cuda``, made of ``torch.accelerator``, ``torch.Stream`` and ``torch.Event``.

    There is no generic function for a pool's token and for graphed callables; the allocator's segments are those of the
    device's own module, where it has them.

    Args:
        device: that the streams, the events and the numbers are of.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._first: Any = None

    def Stream(self) -> Any:  # noqa: N802  # as device modules call it
        import torch

        self.default_stream()
        return torch.Stream(self._device)

    def Event(self) -> Any:  # noqa: N802
        import torch

        return torch.Event(self._device)

    def current_stream(self) -> Any:
        import torch

        return torch.accelerator.current_stream()

    def default_stream(self) -> Any:
        """The stream that is current before anybody made another one so."""
        if self._first is None:
            self._first = self.current_stream()
        return self._first

    @contextlib.contextmanager
    def stream(self, stream: Any) -> Iterator[Any]:
        """A stream's own context can be entered once at a time only."""
        import torch

        self.default_stream()
        before = self.current_stream()
        torch.accelerator.set_stream(stream)
        try:
            yield stream
        finally:
            torch.accelerator.set_stream(before)

    def synchronize(self) -> None:
        import torch

        torch.accelerator.synchronize()

    def is_current_stream_capturing(self) -> bool:
        capturing = getattr(self.current_stream(), "is_capturing", None)
        if capturing is None:
            raise Unsupported("nothing tells whether a stream captures: this torch has no torch.Stream.is_capturing()")
        return bool(capturing())

    @contextlib.contextmanager
    def graph(self, graph: Any, *, stream: Any = None, **settings: Any) -> Iterator[None]:
        """What stands in for the context manager of an implementation that has none."""
        with self.stream(self._side() if stream is None else stream):
            graph.capture_begin(**settings)
            try:
                yield
            finally:
                graph.capture_end()

    def _side(self) -> Any:
        """A stream that can capture."""
        return self.Stream()

    def empty_cache(self) -> None:
        """Nothing is cached where the device has no caching allocator: torch asserts then."""
        import torch

        with contextlib.suppress(RuntimeError):
            torch.accelerator.empty_cache()

    def memory_allocated(self) -> int:
        return self._bytes("memory_allocated")

    def memory_reserved(self) -> int:
        return self._bytes("memory_reserved")

    def _bytes(self, name: str) -> int:
        import torch

        try:
            return int(getattr(torch.accelerator, name)())
        except RuntimeError as error:
            raise NotDerived(name, "memory_stats") from error

    def memory_snapshot(self) -> list[Any]:
        """That of the device's own module: there is no generic one."""
        import torch

        own = None
        with contextlib.suppress(RuntimeError):  # no module is registered
            own = getattr(torch.get_device_module(self._device), "memory_snapshot", None)
        if own is None:
            raise Unsupported("the allocator's segments cannot be read: the device module has no memory_snapshot()")
        return list(own())

    def MemPool(self) -> Any:  # noqa: N802
        raise Unsupported("the device module has no MemPool")

    def make_graphed_callables(self, *_: Any, **__: Any) -> Any:
        raise NotDerived("make_graphed_callables", "graphed_callables")

    def manual_seed(self, seed: int) -> None:
        import torch

        torch.manual_seed(seed)

    def device_count(self) -> int:
        import torch

        return torch.accelerator.device_count()


class HostModule(GenericModule):
    """The host, for classes that record operators on CPU tensors: one stream, whose work is done at once."""

    one_stream = True

    def __init__(self, device: torch.device) -> None:
        super().__init__(device)
        self._stream = HostStream()

    def Stream(self) -> Any:  # noqa: N802
        raise Unsupported("the host has one stream")

    def Event(self) -> Any:  # noqa: N802
        return HostEvent()

    def current_stream(self) -> Any:
        return self._stream

    @contextlib.contextmanager
    def stream(self, stream: Any) -> Iterator[Any]:
        yield stream

    def synchronize(self) -> None: ...

    def _side(self) -> Any:
        return self._stream

    def is_current_stream_capturing(self) -> bool:
        raise Unsupported("nothing tells whether the host's stream captures (Adapter.is_current_stream_capturing)")

    def empty_cache(self) -> None: ...

    def memory_allocated(self) -> int:
        raise NotDerived("memory_allocated", "memory_stats")

    def memory_reserved(self) -> int:
        raise NotDerived("memory_reserved", "memory_stats")

    def device_count(self) -> int:
        return 1


class HostStream:
    """The host's stream."""

    def wait_stream(self, stream: Any) -> None: ...
    def wait_event(self, event: Any) -> None: ...
    def synchronize(self) -> None: ...

    def record_event(self, event: Any = None) -> Any:
        return HostEvent() if event is None else event

    def query(self) -> bool:
        return True


class HostEvent:
    """A point in it."""

    def record(self, stream: Any = None) -> None: ...
    def wait(self, stream: Any = None) -> None: ...
    def synchronize(self) -> None: ...

    def query(self) -> bool:
        return True


class CompletedModule:
    """A device module, and for the names that it lacks torch's generic API."""

    def __init__(self, own: Any, generic: GenericModule) -> None:
        self.own = own
        self.generic = generic

    def __getattr__(self, name: str) -> Any:
        if name in {"own", "generic"}:  # not there yet, as in a copy that is being made
            raise AttributeError(name)
        found = getattr(self.own, name, None)
        return getattr(self.generic, name) if found is None else found


#: What suites and kit ask of a device module, and what torch's generic API can stand in for.
_NAMES = tuple(name for name in vars(GenericModule) if not name.startswith("_"))


def module_for(device: torch.device) -> Any:
    """The module that torch has for a kind of device, completed.

    Raises:
        NotDerived: torch has none, and its generic API is about another device.
    """
    import torch

    if device.type == "cpu":
        return HostModule(device)
    own: ModuleType | None = None
    with contextlib.suppress(RuntimeError):  # none is registered
        own = torch.get_device_module(device)
    module = completed(own, device)
    if module is None:
        raise NotDerived("module")
    return module


def completed(own: Any, device: torch.device) -> Any:
    """`own` itself where it has all names, or where torch's generic API is about another device than this."""
    import torch

    kind = torch.accelerator.current_accelerator() if hasattr(torch, "accelerator") else None
    if kind is None or kind.type != device.type or all(getattr(own, name, None) is not None for name in _NAMES):
        return own
    generic = GenericModule(device)
    return generic if own is None else CompletedModule(own, generic)


def stands_in(module: Any, name: str) -> bool:
    """Whether a name that a device module lacks is left to torch's generic API, or to what is made of it."""
    own = module.own if isinstance(module, CompletedModule) else None
    return isinstance(module, CompletedModule | GenericModule) and getattr(own, name, None) is None
