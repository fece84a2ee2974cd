"""The adapter: what the kit must know about an implementation before it can test it.

`Adapter` is the whole contract between the suites and a backend.  Suites reach the implementation through it and
through nothing else, so that a requirement is written once and decided for every documented shape of the class
(`dialect`).  A backend whose device module is shaped like ``torch.cuda`` needs only `ModuleAdapter`.
"""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from conformance.errors import HarnessError, Unsupported
from conformance.requirements.vocabulary import CAPABILITIES, DIALECTS, Capability, Dialect

if TYPE_CHECKING:
    import torch

#: As many as torch.cuda and torch.xpu have for each priority.
_STREAMS_IN_A_POOL = 32

__all__ = [
    "CAPABILITIES",
    "DIALECTS",
    "Adapter",
    "Capability",
    "Dialect",
    "Event",
    "ModuleAdapter",
    "Stream",
    "in_thread",
]


class Event(Protocol):
    """A recorded point in a stream's work, as ``torch.Event`` has it."""

    def record(self, stream: Any = None) -> None: ...
    def wait(self, stream: Any = None) -> None: ...
    def query(self) -> bool: ...
    def synchronize(self) -> None: ...


class Stream(Protocol):
    """An ordered queue of device work, as ``torch.Stream`` has it."""

    def wait_stream(self, stream: Any) -> None: ...
    def wait_event(self, event: Any) -> None: ...
    def record_event(self, event: Any = None) -> Any: ...
    def query(self) -> bool: ...
    def synchronize(self) -> None: ...


class Adapter:
    """What the suites need of an implementation.  Subclass it, or use `ModuleAdapter`.

    Attributes:
        name: how reports call the implementation, for example ``"torch.cuda"``.
        dialect: the documented shape of the class.
        revision: the PyTorch release whose documents are claimed, for example ``"2.14"``.
        graph_class: the class under test.
        capabilities: what is declared; a name that is left out is unstated.
        runtime: module with the graph functions of ``cuda.bindings.runtime`` for the raw handles, or ``None``.
        needs_side_stream: ``False`` for a device whose default stream can capture; then no refusal is asked of it, and
            a capture there must record like any other.
        visible_devices: the environment variable that limits a process to some of the devices, such as
            ``"CUDA_VISIBLE_DEVICES"``; without it, several workers share one device.
        script_words: Python expressions for scripts that reproduce a failure without the kit, needed only where the
            device differs from a usual one.  ``tensor`` makes a tensor of ``data`` and ``dtype``; ``pinned`` makes one
            in pinned memory; ``read`` copies ``tensor`` to the host; ``setup`` is a context manager around the script;
            ``use`` is a statement that makes the device ready.  They call the device module ``backend``.
        seed: for devices that make random choices; the same for the same test.

    A subclass overrides the methods that have no default, and those that its class needs otherwise.  A method that is
    missing makes the tests that need it errors, never failures:

    >>> import torch
    >>> class VendorGraph:
    ...     def __init__(self, pool=None):
    ...         self.pool = pool
    >>> class VendorAdapter(Adapter):
    ...     name, revision, graph_class = "vendor", "2.14", VendorGraph
    ...     capabilities = {"hooks": False}
    ...     device = torch.device("cpu")
    ...
    ...     def new_graph(self, keep_graph=None, *, pool=None, mode=None):
    ...         return self.graph_class(pool)
    ...
    ...     def synchronize(self):
    ...         pass
    >>> adapter = VendorAdapter()
    >>> adapter.new_graph(pool=(0, 1)).pool
    (0, 1)
    >>> adapter.read(adapter.tensor([1.0, 2.0]))
    tensor([1., 2.])
    >>> adapter.graph_pool_handle()
    Traceback (most recent call last):
    NotImplementedError
    """

    name: str
    dialect: Dialect = "cuda"
    revision: str
    graph_class: type
    capabilities: Mapping[str, bool] = {}
    runtime: Any = None
    needs_side_stream: bool = True
    visible_devices: str | None = None
    script_words: Mapping[str, str] = {}
    seed: int = 0

    def owes(self, capability: str) -> bool:
        """Whether the implementation is held to all of `capability`: documented for it, and not declared absent."""
        complete = CAPABILITIES[capability].complete_in(self.revision, self.dialect)
        return complete and self.capabilities.get(capability) is not False

    @property
    def has_reset(self) -> bool:
        """Whether graphs can be reset; the pages of XPUGraph and of the accelerator's Graph list no such method."""
        return callable(getattr(self.graph_class, "reset", None))

    # -- graphs -----------------------------------------------------------------------------------------------------

    def new_graph(self, keep_graph: bool | None = None, *, pool: Any = None, mode: str | None = None) -> Any:
        """Construct a graph.  Only the accelerator's constructor takes `pool` and `mode`; for any dialect `graph_for`.

        Raises:
            HarnessError: `pool` or `mode` is given in another dialect.
        """
        if self.dialect == "accelerator":
            return self.graph_class(**_given(keep_graph=keep_graph, pool=pool, capture_error_mode=mode))
        if pool is not None or mode is not None:
            raise HarnessError("in this dialect pool and mode go to capture_begin, not to the constructor")
        return self.graph_class(**_given(keep_graph=keep_graph))

    def graph_for(
        self,
        keep_graph: bool | None = None,
        *,
        pool: Any = None,
        mode: str | None = None,
        liveness: bool | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """A new graph for captures with these settings, wherever the dialect takes them.

        Returns:
            The graph, and what is left to give to `capture_begin` or `capture` each time.
        """
        if self.dialect == "accelerator":
            return self.new_graph(keep_graph, pool=pool, mode=mode), {}
        return self.new_graph(keep_graph), _given(pool=pool, mode=mode, liveness=liveness)

    def capture_begin(
        self, graph: Any, *, pool: Any = None, mode: str | None = None, liveness: bool | None = None
    ) -> None:
        """Begin a capture on the current stream, with the settings that the dialect takes then (`graph_for`).

        Raises:
            HarnessError: `pool` or `mode` is given, and the dialect takes them in the constructor.
        """
        if self.dialect == "accelerator":
            _expect_none(pool, mode)
            graph.capture_begin()
        else:
            graph.capture_begin(**_given(pool=pool, capture_error_mode=mode, check_input_liveness=liveness))

    def capture(
        self, graph: Any, *, pool: Any = None, stream: Any = None, mode: str | None = None, liveness: bool | None = None
    ) -> contextlib.AbstractContextManager[Any]:
        """The implementation's own context manager around a capture, on `stream` or on a stream of its choice.

        The other settings are those of `capture_begin`.
        """
        raise NotImplementedError

    def graph_pool_handle(self) -> Any:
        """A fresh token that graphs can share memory by; good until `recover` at least."""
        raise NotImplementedError

    def new_mem_pool(self) -> Any:
        """A fresh ``MemPool`` object, which the CUDA page names besides tokens since 2.14."""
        raise NotImplementedError

    def make_graphed_callables(self, callables: Any, sample_args: tuple[Any, ...], **settings: Any) -> Any:
        """Graphed versions of functions and modules; `settings` are the documented keyword arguments."""
        raise NotImplementedError

    def is_current_stream_capturing(self) -> bool:
        """Whether a capture (valid or invalidated) is underway on the current stream."""
        raise NotImplementedError

    def reset(self, graph: Any) -> None:
        """Delete what `graph` holds.

        Raises:
            Unsupported: its class has no such method, and its page lists none.
        """
        self.need_reset()
        graph.reset()

    def need_reset(self) -> None:
        """Go no further with a class without ``reset()``.

        Raises:
            Unsupported: it is one.
        """
        if not self.has_reset:
            raise Unsupported("the class has no reset(), and its page lists none")

    def raw_graph(self, graph: Any) -> int:
        """The template's handle, through the method that the dialect documents."""
        return int(getattr(graph, "raw_xpu_graph" if self.dialect == "xpu" else "raw_cuda_graph")())

    def raw_exec(self, graph: Any) -> int:
        """The executable's handle, through the method that the dialect documents."""
        return int(getattr(graph, "raw_xpu_graph_exec" if self.dialect == "xpu" else "raw_cuda_graph_exec")())

    def debug_dump(self, graph: Any, path: Any, *, verbose: bool | None = None) -> None:
        """Write the captured graph to `path`, each argument passed the way the dialect documents it."""
        name = "path" if self.dialect == "accelerator" else "debug_path"
        graph.debug_dump(**{name: path}, **_given(verbose=verbose))

    # -- streams and synchronisation --------------------------------------------------------------------------------

    def new_stream(self) -> Stream:
        """A stream that the test does not use yet.

        Raises:
            Unsupported: the device has no more of them.
        """
        raise NotImplementedError

    def new_event(self) -> Event:
        raise NotImplementedError

    def current_stream(self) -> Stream:
        raise NotImplementedError

    def default_stream(self) -> Stream:
        raise NotImplementedError

    def stream(self, stream: Any) -> contextlib.AbstractContextManager[Any]:
        """Make `stream` current inside a ``with`` block, the previous one afterwards."""
        raise NotImplementedError

    def synchronize(self) -> None:
        """Wait for all work of the device."""
        raise NotImplementedError

    def device_count(self) -> int:
        """How many devices of this kind the process sees; workers are spread over them."""
        return 1

    # -- tensors and memory -----------------------------------------------------------------------------------------

    @property
    def device(self) -> torch.device:
        """The device that tensors are made on."""
        raise NotImplementedError

    def tensor(self, data: Any, dtype: torch.dtype | None = None) -> torch.Tensor:
        """A device tensor in ordinary memory, outside all pools, holding `data`: nested lists or a CPU tensor."""
        import torch

        return torch.as_tensor(data, dtype=dtype).to(self.device, copy=True)

    def full(self, shape: Sequence[int] | int, value: float, dtype: torch.dtype | None = None) -> torch.Tensor:
        """A device tensor of `shape` in ordinary memory, every element `value`; 32-bit floats by default."""
        import torch

        size = (shape,) if isinstance(shape, int) else tuple(shape)
        return self.tensor(torch.full(size, value, dtype=torch.float32 if dtype is None else dtype))

    def pinned(self, data: Any, dtype: torch.dtype | None = None) -> torch.Tensor:
        """A host tensor in pinned memory that the device can copy from asynchronously."""
        import torch

        return torch.as_tensor(data, dtype=dtype).clone().pin_memory()

    def read(self, tensor: torch.Tensor) -> torch.Tensor:
        """The tensor's values on the host, a detached CPU copy.  Waits for the device: illegal in a capture."""
        self.synchronize()
        return tensor.detach().to("cpu", copy=True)

    def empty_cache(self) -> None:
        """Return unused cached memory to the system."""
        raise NotImplementedError

    def release_library_memory(self) -> None:
        """Free the device memory that libraries keep for themselves; called when no graph is alive."""

    def memory_allocated(self) -> int:
        """Bytes of device memory that tensors occupy."""
        raise NotImplementedError

    def memory_reserved(self) -> int:
        """Bytes of device memory that the allocator holds."""
        raise NotImplementedError

    def memory_snapshot(self) -> list[dict[str, Any]]:
        """The allocator's segments, as ``torch.cuda.memory_snapshot`` shapes them."""
        raise NotImplementedError

    def manual_seed(self, seed: int) -> None:
        """Seed the device's default generator."""
        import torch

        torch.manual_seed(seed)

    def unsafe_call(self) -> None:
        """Make one call that the modes tell apart: a raw device allocation (`capture_error_mode`).

        Raises:
            RuntimeError: the call was refused; the message carries the device's own error.
            Unsupported: there is no runtime to make it with.
        """
        if self.runtime is None:
            raise Unsupported("the adapter has no runtime to make a raw allocation with (Adapter.unsafe_call)")
        error, pointer = self.runtime.cudaMalloc(1 << 16)
        if int(error) != 0:
            raise RuntimeError(f"cudaMalloc: {error!r}")
        self._unsafe_allocations().append(pointer)

    def _unsafe_allocations(self) -> list[Any]:
        return self.__dict__.setdefault("_raw_allocations", [])  # type: ignore[no-any-return]

    # -- after a failure --------------------------------------------------------------------------------------------

    def abort_capture(self, graph: Any) -> None:
        """Get out of a capture that a test left open, as far as the implementation allows; never raises."""
        for name in ("capture_end", "reset"):
            with contextlib.suppress(Exception):
                getattr(graph, name)()

    def around_test(self) -> contextlib.AbstractContextManager[Any]:
        """What is entered around each test, for a device that has to be set up for it."""
        return contextlib.nullcontext()

    def recover(self) -> str | None:
        """Make the implementation ready for the next test.

        Returns:
            What is wrong and could not be put right, in words, or ``None`` when all is well.
        """
        while self._unsafe_allocations():
            self.runtime.cudaFree(self._unsafe_allocations().pop())
        if self.is_current_stream_capturing():
            return "the current stream is still capturing after the test"
        self.synchronize()
        return None

    def environment(self) -> dict[str, str]:
        """What a reader needs to repeat a run (driver, runtime, device name), beyond Python's and torch's."""
        return {}


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
            _expect_none(pool, mode)
            return self._capture_on(graph, stream)
        settings = _given(pool=pool, stream=stream, capture_error_mode=mode, check_input_liveness=liveness)
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


def _given(**settings: Any) -> dict[str, Any]:
    """The settings that were not left out."""
    return {name: value for name, value in settings.items() if value is not None}


def _expect_none(pool: Any, mode: str | None) -> None:
    if pool is not None or mode is not None:
        raise HarnessError("in this dialect pool and mode are the constructor's (Adapter.graph_for)")


def _referenced_elsewhere(things: Sequence[Any]) -> list[Any]:
    """Those of `things` that something besides this list still refers to.

    Weak references cannot tell: torch 2.11 does not clear those to its streams, and crashes when one that outlived
    its stream is asked.
    """
    # Here a list holds each of them once more, and the new object alone.
    alone, *counts = [sys.getrefcount(thing) for thing in [object(), *things]]
    return [thing for thing, count in zip(things, counts, strict=True) if count > alone + 1]


def in_thread(call: Callable[[], Any]) -> Any:
    """Run `call` in a thread of its own, wait for it, and return its result or raise what it raised."""
    outcome: list[Any] = []
    failure: list[BaseException] = []

    def body() -> None:
        try:
            outcome.append(call())
        except BaseException as error:  # handed to the caller's thread, not swallowed
            failure.append(error)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]
