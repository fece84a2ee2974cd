"""The contract: the whole of what suites and kit need of an implementation."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from conformance.adapter.derivation import device_for
from conformance.adapter.device_module import module_for, stands_in
from conformance.adapter.settings import expect_none, given
from conformance.adapter.streams import StreamsInUse
from conformance.errors import HarnessError, Unsupported
from conformance.requirements.vocabulary import CAPABILITIES, Dialect

if TYPE_CHECKING:
    import torch


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


class Adapter(StreamsInUse):
    """What the suites need of an implementation.  Subclass it, or use `ModuleAdapter`.

    `name`, `revision` and `graph_class` must be written.  All else has a default: an attribute the one below, a method
    that of the device module, which is torch's own for the device, and torch's generic API where that has gaps.

    Attributes:
        name: how reports call the implementation, for example ``"torch.cuda"``.
        revision: the PyTorch release whose documents are claimed, for example ``"2.14"``.
        graph_class: the class under test.
        dialect: the documented shape of the class.
        capabilities: what is declared; a name that is left out is unstated.
        derivation: what nobody wrote and the kit derived, in sentences without an end; readers of a record see it.
        runtime: module with the graph functions of ``cuda.bindings.runtime`` for the raw handles, or ``None``.
        needs_side_stream: ``False`` for a device whose default stream can capture; then no refusal is asked of it, and
            a capture there must record like any other.
        default_mode: the error mode of a capture that names none, where the implementation documents another one.
        visible_devices: the environment variable that limits a process to some of the devices, such as
            ``"CUDA_VISIBLE_DEVICES"``; without it, several workers share one device.
        script_words: Python expressions for scripts that reproduce a failure without the kit, needed only where the
            device differs from a usual one.  ``tensor`` makes a tensor of ``data`` and ``dtype``; ``pinned`` makes one
            in pinned memory; ``read`` copies ``tensor`` to the host; ``setup`` is a context manager around each turn of
            the script, of which there are many if it uses the number ``turn``, such as for a seed;
            ``use`` is a statement that makes the device ready.  They call the device module ``backend``.
        seed: for devices that make random choices; the same for the same test.

    What neither the device module nor torch's generic API has, an adapter writes or declares absent:

    >>> import torch
    >>> class VendorGraph:
    ...     def __init__(self, pool=None):
    ...         self.graph_pool = pool
    >>> class VendorAdapter(Adapter):
    ...     name, revision, graph_class = "vendor", "2.14", VendorGraph
    ...     capabilities = {"hooks": False}
    ...     device = torch.device("cpu")
    ...
    ...     def new_graph(self, keep_graph=None, *, pool=None, mode=None):
    ...         return self.graph_class(pool)
    >>> adapter = VendorAdapter()
    >>> adapter.new_graph(pool=(0, 1)).graph_pool
    (0, 1)
    >>> adapter.read(adapter.tensor([1.0, 2.0]))
    tensor([1., 2.])
    >>> adapter.memory_allocated()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    conformance.errors.NotDerived: write memory_allocated(), or declare the capability 'memory_stats' False: ...
    """

    name: str
    revision: str
    graph_class: type
    dialect: Dialect = "cuda"
    capabilities: Mapping[str, bool] = {}
    derivation: Sequence[str] = ()
    runtime: Any = None
    needs_side_stream: bool = True
    default_mode: str = "global"
    visible_devices: str | None = None
    script_words: Mapping[str, str] = {}
    seed: int = 0

    def owes(self, capability: str) -> bool:
        """Whether the implementation is held to all of `capability`: documented for it, and not declared absent."""
        complete = CAPABILITIES[capability].complete_in(self.revision, self.dialect)
        return complete and self.capabilities.get(capability) is not False

    def why_without(self, capability: str) -> str | None:
        """Why the implementation does not owe `capability`, in words; ``None`` when it does."""
        if self.owes(capability):
            return None
        if self.capabilities.get(capability) is False:
            return self.absence(capability)
        return f"the documents of {self.dialect} {self.revision} do not have all of {capability}"

    def absence(self, capability: str) -> str:
        """The declaration that `capability` is absent, in words."""
        return f"the adapter {self.name!r} declares the capability {capability!r} absent"

    @functools.cached_property
    def device(self) -> torch.device:
        """The device that tensors are made on: the class's own by its module's name, or the current accelerator."""
        return device_for(self.graph_class)

    @functools.cached_property
    def module(self) -> Any:
        """The device module, shaped like ``torch.cuda``: torch's own for the device."""
        return module_for(self.device)

    @functools.cached_property
    def _token_owners(self) -> list[Any]:
        return []

    @property
    def has_reset(self) -> bool:
        """Whether graphs can be reset; the pages of XPUGraph and of the accelerator's Graph list no such method."""
        return callable(getattr(self.graph_class, "reset", None))

    def has_own(self, function: str) -> bool:
        """Whether the implementation has a documented function besides its class, to be called as users do.

        Where the adapter overrides the member that calls it, only the adapter knows how.
        """
        return self._overrides(function) is False and getattr(self.module, function, None) is not None

    def need_own(self, function: str) -> None:
        """Go no further where what is made of the class would be judged in the place of such a function.

        Raises:
            Unsupported: the implementation has none.
        """
        if self.dialect != "accelerator" and self._overrides(function) is None:
            raise Unsupported(f"the implementation has no function {function} besides its class")

    def _overrides(self, function: str) -> bool | None:
        """Whether the adapter has a way of its own to call a function; ``None`` where torch's generic API stands in."""
        member = {"graph": "capture"}.get(function, function)
        if getattr(type(self), member) is not getattr(Adapter, member):
            return True
        return None if stands_in(self.module, function) else False

    # -- graphs -----------------------------------------------------------------------------------------------------

    def new_graph(self, keep_graph: bool | None = None, *, pool: Any = None, mode: str | None = None) -> Any:
        """Construct a graph.  Only the accelerator's constructor takes `pool` and `mode`; for any dialect `graph_for`.

        Raises:
            HarnessError: `pool` or `mode` is given in another dialect.
        """
        if keep_graph is False and self.capabilities.get("keep_graph") is False:
            keep_graph = None  # a class that knows no templates to keep does what False asks
        if self.dialect == "accelerator":
            return self.graph_class(**given(keep_graph=keep_graph, pool=pool, capture_error_mode=mode))
        if pool is not None or mode is not None:
            raise HarnessError("in this dialect pool and mode go to capture_begin, not to the constructor")
        return self.graph_class(**given(keep_graph=keep_graph))

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
        return self.new_graph(keep_graph), given(pool=pool, mode=mode, liveness=liveness)

    def capture_begin(
        self, graph: Any, *, pool: Any = None, mode: str | None = None, liveness: bool | None = None
    ) -> None:
        """Begin a capture on the current stream, with the settings that the dialect takes then (`graph_for`).

        Raises:
            HarnessError: `pool` or `mode` is given, and the dialect takes them in the constructor.
        """
        if self.dialect == "accelerator":
            expect_none(pool, mode)
            graph.capture_begin()
        else:
            graph.capture_begin(**given(pool=pool, capture_error_mode=mode, check_input_liveness=liveness))

    def capture(
        self, graph: Any, *, pool: Any = None, stream: Any = None, mode: str | None = None, liveness: bool | None = None
    ) -> contextlib.AbstractContextManager[Any]:
        """The implementation's own context manager around a capture, on `stream` or on a stream of its choice.

        The other settings are those of `capture_begin`.
        """
        if self.dialect == "accelerator":
            expect_none(pool, mode)
            return self._capture_on(graph, stream)
        settings = given(pool=pool, stream=stream, capture_error_mode=mode, check_input_liveness=liveness)
        # The graph goes by position: every backend names that parameter differently.
        return self.module.graph(graph, **settings)  # type: ignore[no-any-return]

    @contextlib.contextmanager
    def _capture_on(self, graph: Any, stream: Any) -> Iterator[Any]:
        side = self.capture_stream() if stream is None else stream
        with self.stream(side), graph:
            yield

    def graph_pool_handle(self) -> Any:
        """A fresh token that graphs can share memory by; good until `recover` at least."""
        if not hasattr(self.module, "graph_pool_handle") and (
            self.dialect == "accelerator" or stands_in(self.module, "graph_pool_handle")
        ):
            return self._token_of_a_graph()
        return self.module.graph_pool_handle()

    def _token_of_a_graph(self) -> Any:
        """A token where only graphs have any, and only a graph that uses the pool keeps it good."""
        graph, scrap, side, before = self.new_graph(), self.full(1, 0.0), self.capture_stream(), self.current_stream()
        side.wait_stream(before)
        with self.stream(side):
            graph.capture_begin()
            scrap.add_(1)  # in place, so that the pool begins empty
            graph.capture_end()
        before.wait_stream(side)
        self._token_owners.append(graph)
        return graph.pool()

    def new_mem_pool(self) -> Any:
        """A fresh ``MemPool`` object, which the CUDA page names besides tokens since 2.14."""
        return self.module.MemPool()

    def make_graphed_callables(self, callables: Any, sample_args: tuple[Any, ...], **settings: Any) -> Any:
        """Graphed versions of functions and modules; `settings` are the documented keyword arguments."""
        return self.module.make_graphed_callables(callables, sample_args, **settings)

    def is_current_stream_capturing(self) -> bool:
        """Whether a capture (valid or invalidated) is underway on the current stream."""
        return bool(self.module.is_current_stream_capturing())

    def reset(self, graph: Any) -> None:
        """Delete what `graph` holds.

        Raises:
            Unsupported: its class has no such method.
        """
        self.need_reset()
        graph.reset()

    def need_reset(self) -> None:
        """Go no further with a class without ``reset()``.

        Raises:
            Unsupported: it is one.
        """
        if not self.has_reset:
            raise Unsupported("the class has no reset()")

    def raw_graph(self, graph: Any) -> int:
        """The template's handle, through the method that the dialect documents."""
        return int(getattr(graph, "raw_xpu_graph" if self.dialect == "xpu" else "raw_cuda_graph")())

    def raw_exec(self, graph: Any) -> int:
        """The executable's handle, through the method that the dialect documents."""
        return int(getattr(graph, "raw_xpu_graph_exec" if self.dialect == "xpu" else "raw_cuda_graph_exec")())

    def debug_dump(self, graph: Any, path: Any, *, verbose: bool | None = None) -> None:
        """Write the captured graph to `path`, each argument passed the way the dialect documents it."""
        name = "path" if self.dialect == "accelerator" else "debug_path"
        graph.debug_dump(**{name: path}, **given(verbose=verbose))

    # -- streams and synchronisation --------------------------------------------------------------------------------

    def new_stream(self) -> Stream:
        """A stream that the test does not use yet: backends take streams from a small pool in turn.

        Raises:
            Unsupported: the device has no more of them.
        """
        stream: Stream = self._unused_stream()
        return stream

    def capture_stream(self) -> Stream:
        """A stream to capture on: a new one, or the only one where that can capture.

        Raises:
            Unsupported: the device has none.
        """
        try:
            return self.new_stream()
        except Unsupported:
            if self.needs_side_stream:
                raise
            return self.current_stream()

    def new_event(self) -> Event:
        return self.module.Event()  # type: ignore[no-any-return]

    def current_stream(self) -> Stream:
        return self.module.current_stream()  # type: ignore[no-any-return]

    def default_stream(self) -> Stream:
        return self.module.default_stream()  # type: ignore[no-any-return]

    def stream(self, stream: Any) -> contextlib.AbstractContextManager[Any]:
        """Make `stream` current inside a ``with`` block, the previous one afterwards."""
        return self.module.stream(stream)  # type: ignore[no-any-return]

    def synchronize(self) -> None:
        """Wait for all work of the device."""
        self.module.synchronize()

    def device_count(self) -> int:
        """How many devices of this kind the process sees; workers are spread over them."""
        return 1

    # -- tensors and memory -----------------------------------------------------------------------------------------

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

        copy = torch.as_tensor(data, dtype=dtype).clone()
        # The host has no other memory.
        return copy if self.device.type == "cpu" else copy.pin_memory()

    def read(self, tensor: torch.Tensor) -> torch.Tensor:
        """The tensor's values on the host, a detached CPU copy.  Waits for the device: illegal in a capture."""
        self.synchronize()
        return tensor.detach().to("cpu", copy=True)

    def empty_cache(self) -> None:
        """Return unused cached memory to the system."""
        self.module.empty_cache()

    def release_library_memory(self) -> None:
        """Free the device memory that libraries keep for themselves; called when no graph is alive."""

    def memory_allocated(self) -> int:
        """Bytes of device memory that tensors occupy."""
        return int(self.module.memory_allocated())

    def memory_reserved(self) -> int:
        """Bytes of device memory that the allocator holds."""
        return int(self.module.memory_reserved())

    def memory_snapshot(self) -> list[dict[str, Any]]:
        """The allocator's segments, as ``torch.cuda.memory_snapshot`` shapes them."""
        return list(self.module.memory_snapshot())

    def manual_seed(self, seed: int) -> None:
        """Seed the device's default generator."""
        self.module.manual_seed(seed)

    def unsafe_call(self) -> None:
        """Make one call that the modes tell apart: a raw device allocation (`capture_error_mode`).

        Raises:
            RuntimeError: the call was refused; the message carries the device's own error.
            Unsupported: there is no runtime to make it with.
        """
        allocate = getattr(self.runtime, "cudaMalloc", None)
        if allocate is None:
            raise Unsupported("the adapter has no runtime to make a raw allocation with (Adapter.unsafe_call)")
        error, pointer = allocate(1 << 16)
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
        self._let_go_of_streams()
        self._token_owners.clear()
        while self._unsafe_allocations():
            self.runtime.cudaFree(self._unsafe_allocations().pop())
        with contextlib.suppress(Unsupported):  # then nobody knows
            if self.is_current_stream_capturing():
                return "the current stream is still capturing after the test"
        self.synchronize()
        return None

    def environment(self) -> dict[str, str]:
        """What a reader needs to repeat a run (driver, runtime, device name), beyond Python's and torch's."""
        return {}
