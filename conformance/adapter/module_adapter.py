"""An adapter for a device module shaped like ``torch.cuda``, and the streams and tokens that it keeps count of."""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from conformance.adapter.contract import Adapter, Event, Stream
from conformance.adapter.settings import expect_none, given
from conformance.errors import Unsupported
from conformance.requirements.vocabulary import Dialect

if TYPE_CHECKING:
    import torch

#: As many as torch.cuda and torch.xpu have for each priority.
_STREAMS_IN_A_POOL = 32


class ModuleAdapter(Adapter):
    """An adapter for a device module shaped like ``torch.cuda``: the names below are looked up on it.

    Args:
        name: the implementation's name in records and reports.
        module: object with ``Stream``, ``Event``, ``stream``, ``current_stream``, ``default_stream``, ``synchronize``,
            ``graph``, ``graph_pool_handle``, ``make_graphed_callables``, ``is_current_stream_capturing``,
            ``empty_cache``, ``memory_allocated``, ``memory_reserved``, ``memory_snapshot`` and ``MemPool``.  In the
            accelerator dialect ``graph``, ``graph_pool_handle`` and ``make_graphed_callables`` are not asked for.
        graph_class: the class under test.
        device: where tensors are made.
        dialect, revision, capabilities, runtime: see `Adapter`.

    The device module may be a module or any object with these names:

    >>> from types import SimpleNamespace
    >>> class VendorGraph:
    ...     capturing = False
    >>> class graph:
    ...     def __init__(self, vendor_graph, pool=None, stream=None, capture_error_mode="global"):
    ...         self.vendor_graph = vendor_graph
    ...
    ...     def __enter__(self):
    ...         self.vendor_graph.capturing = True
    ...
    ...     def __exit__(self, *error):
    ...         self.vendor_graph.capturing = False
    >>> vendor = SimpleNamespace(graph=graph, graph_pool_handle=lambda: (0, 1))
    >>> adapter = ModuleAdapter("vendor", vendor, VendorGraph, device="cpu", revision="2.14")
    >>> captured = adapter.new_graph()
    >>> with adapter.capture(captured, pool=adapter.graph_pool_handle(), mode="relaxed"):
    ...     captured.capturing
    True
    >>> captured.capturing
    False
    """

    def __init__(
        self,
        name: str,
        module: Any,
        graph_class: type,
        *,
        device: torch.device | str,
        dialect: Dialect = "cuda",
        revision: str,
        capabilities: Mapping[str, bool] | None = None,
        runtime: Any = None,
    ) -> None:
        self.name = name
        self.module = module
        self.graph_class = graph_class
        self.dialect = dialect
        self.revision = revision
        self.capabilities = dict(capabilities or {})
        self.runtime = runtime
        self._streams: list[Any] = []
        self._earlier_streams: list[Any] = []
        self._token_owners: list[Any] = []
        import torch

        self._device = torch.device(device)

    @property
    def device(self) -> torch.device:
        return self._device

    def capture(
        self, graph: Any, *, pool: Any = None, stream: Any = None, mode: str | None = None, liveness: bool | None = None
    ) -> contextlib.AbstractContextManager[Any]:
        if self.dialect == "accelerator":
            expect_none(pool, mode)
            return self._capture_on(graph, stream)
        settings = given(pool=pool, stream=stream, capture_error_mode=mode, check_input_liveness=liveness)
        # The graph goes by position: every backend names that parameter differently.
        return self.module.graph(graph, **settings)  # type: ignore[no-any-return]

    @contextlib.contextmanager
    def _capture_on(self, graph: Any, stream: Any) -> Iterator[Any]:
        side = self.new_stream() if stream is None else stream
        with self.stream(side), graph:
            yield

    def graph_pool_handle(self) -> Any:
        if self.dialect == "accelerator" and not hasattr(self.module, "graph_pool_handle"):
            return self._token_of_a_graph()
        return self.module.graph_pool_handle()

    def _token_of_a_graph(self) -> Any:
        """A token where only graphs have any, and only a graph that uses the pool keeps it good."""
        graph, scrap, side, before = self.new_graph(), self.full(1, 0.0), self.new_stream(), self.current_stream()
        side.wait_stream(before)
        with self.stream(side):
            graph.capture_begin()
            scrap.add_(1)  # in place, so that the pool begins empty
            graph.capture_end()
        before.wait_stream(side)
        self._token_owners.append(graph)
        return graph.pool()

    def new_mem_pool(self) -> Any:
        return self.module.MemPool()

    def make_graphed_callables(self, callables: Any, sample_args: tuple[Any, ...], **settings: Any) -> Any:
        return self.module.make_graphed_callables(callables, sample_args, **settings)

    def is_current_stream_capturing(self) -> bool:
        return bool(self.module.is_current_stream_capturing())

    def new_stream(self) -> Stream:
        """A stream that nothing else uses: backends take streams from a small pool in turn, even ones still in use."""
        stream = self._stream_besides_earlier()
        # Cycles may be all that keeps the others; but what is collected inside a capture may disturb it.
        if stream is None and not self.is_current_stream_capturing():
            gc.collect()
            stream = self._stream_besides_earlier()
        if stream is None:
            # What an earlier test left behind is no reason to go without.
            stream = self._stream_besides(self._streams)
        if stream is None:
            raise Unsupported(f"the device has no streams besides the {len(self._streams)} that the test uses already")
        self._streams.append(stream)
        return stream

    def _stream_besides_earlier(self) -> Stream | None:
        self._streams = _referenced_elsewhere(self._streams)
        self._earlier_streams = _referenced_elsewhere(self._earlier_streams)
        return self._stream_besides([*self._streams, *self._earlier_streams])

    def _stream_besides(self, streams: Sequence[Any]) -> Stream | None:
        # The stream of a capture that names none; torch keeps it there, and so do backends that copied its class.
        streams_in_use = [*streams, getattr(getattr(self.module, "graph", None), "default_capture_stream", None)]
        for _ in range(_STREAMS_IN_A_POOL + 1):
            stream: Stream = self.module.Stream()
            if stream not in streams_in_use:
                return stream
        return None

    def recover(self) -> str | None:
        streams = [*self._earlier_streams, *self._streams]
        self._streams, self._earlier_streams = [], []  # which refer to each of them, too
        self._earlier_streams = _referenced_elsewhere(streams)
        self._token_owners.clear()
        return super().recover()

    def new_event(self) -> Event:
        return self.module.Event()  # type: ignore[no-any-return]

    def current_stream(self) -> Stream:
        return self.module.current_stream()  # type: ignore[no-any-return]

    def default_stream(self) -> Stream:
        return self.module.default_stream()  # type: ignore[no-any-return]

    def stream(self, stream: Any) -> contextlib.AbstractContextManager[Any]:
        return self.module.stream(stream)  # type: ignore[no-any-return]

    def synchronize(self) -> None:
        self.module.synchronize()

    def empty_cache(self) -> None:
        self.module.empty_cache()

    def memory_allocated(self) -> int:
        return int(self.module.memory_allocated())

    def memory_reserved(self) -> int:
        return int(self.module.memory_reserved())

    def memory_snapshot(self) -> list[dict[str, Any]]:
        return list(self.module.memory_snapshot())

    def manual_seed(self, seed: int) -> None:
        self.module.manual_seed(seed)


def _referenced_elsewhere(things: Sequence[Any]) -> list[Any]:
    """Those of `things` that something besides this list still refers to.

    Weak references cannot tell: torch 2.11 does not clear those to its streams, and crashes when one that outlived
    its stream is asked.
    """
    # Here a list holds each of them once more, and the new object alone.
    alone, *counts = [sys.getrefcount(thing) for thing in [object(), *things]]
    return [thing for thing, count in zip(things, counts, strict=True) if count > alone + 1]
