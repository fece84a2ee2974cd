"""Devices with other means than the reference's: a runtime, streams, memory, names of the module."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import reference_impl.accelerator
from reference_impl import runtime
from reference_impl.allocator.core import CachingAllocator
from reference_impl.devices.chosen import device
from reference_impl.devices.protocol import current_stream_capturing
from reference_impl.devices.software.sinks import Session
from reference_impl.devices.software.streams import Stream, Streams, _Thread
from reference_impl.errors import check
from reference_impl.faults.fault import replaced, together
from reference_impl.graphs import accelerator_graph, context
from reference_impl.graphs.context import CaptureContext
from reference_impl.graphs.core import GraphCore
from reference_impl.runtime import captures
from reference_impl.runtime.captures import Capture
from reference_impl.variants.variant import ACCELERATOR, EVERY_DIALECT, EVERYWHERE, Lacking, Variants, stated

VARIANTS = Variants()


# -- the runtime ------------------------------------------------------------------------------------------------------


@VARIANTS.patch(*EVERY_DIALECT)
def no_cuda_runtime() -> AbstractContextManager[Any]:
    """Nothing behind the class has the functions of CUDA's runtime, as on builds for AMD; handles are numbers."""
    return stated(runtime=None, capabilities={"template_editing": False})


@VARIANTS.patch("reference", "reference.xpu")
def no_user_objects() -> AbstractContextManager[Any]:
    """The runtime has no user objects, so that nothing says when a template or an executable is destroyed."""
    names = [name for name in dir(runtime) if "UserObject" in name]
    return stated(runtime=Lacking(runtime, names))


# -- streams ----------------------------------------------------------------------------------------------------------


def _streams_in_turn(number: int) -> AbstractContextManager[Any]:
    handles: list[int] = []
    turns = iter(range(1 << 62))

    def wrap(_original: Any) -> Any:
        def new(self: Streams) -> Stream:
            while len(handles) < number:
                created = runtime.cudaStreamCreateWithFlags(runtime.cudaStreamNonBlocking)
                handles.append(int(check(runtime, "cudaStreamCreateWithFlags", created)))
            return Stream(self, handles[next(turns) % number])

        return new

    return replaced(Streams, "new", wrap)


@VARIANTS.patch(*EVERYWHERE)
def three_streams() -> AbstractContextManager[Any]:
    """There are three streams besides the default one, handed out in turn, whether or not they are in use."""
    return _streams_in_turn(3)


@VARIANTS.patch(*EVERYWHERE)
def four_streams() -> AbstractContextManager[Any]:
    """There are four streams besides the default one, handed out in turn, whether or not they are in use."""
    return _streams_in_turn(4)


@contextlib.contextmanager
def _ordinary_default_stream() -> Iterator[None]:
    streams = device()._streams  # type: ignore[attr-defined]
    before = streams.default, streams.thread
    created = runtime.cudaStreamCreateWithFlags(runtime.cudaStreamNonBlocking)
    streams.default = Stream(streams, int(check(runtime, "cudaStreamCreateWithFlags", created)))
    streams.thread = _Thread(streams.default)
    try:
        yield
    finally:
        streams.default, streams.thread = before


@VARIANTS.patch(*EVERYWHERE)
def default_stream_captures() -> AbstractContextManager[Any]:
    """The default stream is a queue like the others, and can capture."""

    def wrap(_original: Any) -> Any:
        def require_capturable(self: GraphCore, call: str, _: Any) -> None:
            if current_stream_capturing(self._device):
                raise self._refuse(call, "and another capture is underway on the current stream: end that one first")

        return require_capturable

    changes = _ordinary_default_stream(), replaced(GraphCore, "_require_capturable", wrap)
    return stated(*changes, needs_side_stream=False)


@VARIANTS.patch("reference", "reference.xpu")
def fresh_stream_for_each_block() -> AbstractContextManager[Any]:
    """Every block of the context manager that names no stream captures on a new one."""

    def wrap(original: Any) -> Any:
        def init(self: CaptureContext, target: Any, stream: Any, settings: dict[str, Any]) -> None:
            original(self, target, device().new_stream() if stream is None else stream, settings)

        return init

    return replaced(CaptureContext, "__init__", wrap)


@VARIANTS.patch("reference.asynchronous")
def work_outside_spoils_captures() -> AbstractContextManager[Any]:
    """Work that runs while a capture is underway, on whichever stream and thread, spoils the capture."""

    def wrap(original: Any) -> Any:
        def launch(self: Session, kernel: Any) -> None:
            for capture in list(captures.live):
                capture.invalidate()
            original(self, kernel)

        return launch

    return replaced(Session, "launch", wrap)


@VARIANTS.patch("reference.asynchronous")
def work_outside_is_captured() -> AbstractContextManager[Any]:
    """Work that a thread gives any stream while it captures is recorded into its capture."""

    def wrap(original: Any) -> Any:
        def launch(self: Session, kernel: Any) -> None:
            stream = self._streams.thread.current.queue
            for capture in captures.live:
                if stream.capture is None and capture.valid and capture.token is captures.thread.token:
                    capture.join(stream, capture.streams[capture.origin])
                    vars(capture).setdefault("_adopted", set()).add(stream)
            original(self, kernel)

        return launch

    def joined(original: Any) -> Any:
        def unjoined(self: Capture) -> bool:
            whole, adopted = self.streams, vars(self).get("_adopted", set())
            self.streams = {stream: nodes for stream, nodes in whole.items() if stream not in adopted}
            try:
                return bool(original(self))
            finally:
                self.streams = whole

        return unjoined

    return together(replaced(Session, "launch", wrap), replaced(Capture, "unjoined", joined))


# -- memory -----------------------------------------------------------------------------------------------------------


@VARIANTS.patch(*EVERY_DIALECT)
def memory_stays_reserved() -> AbstractContextManager[Any]:
    """Free segments go to a store that later ones come from, never to the system: what is reserved never falls."""
    return replaced(CachingAllocator, "memory_reserved", lambda _: CachingAllocator.max_memory_reserved)


@VARIANTS.patch(*EVERY_DIALECT)
def blocks_free_nothing() -> AbstractContextManager[Any]:
    """A block captures without waiting, collecting garbage or returning cached memory first."""

    def wrap(_original: Any) -> Any:
        def free_memory() -> None:
            """Keep it."""

        return free_memory

    return together(replaced(context, "free_memory", wrap), replaced(accelerator_graph, "free_memory", wrap))


# -- the module -------------------------------------------------------------------------------------------------------


@VARIANTS.patch(*ACCELERATOR)
def no_graph_pool_handle() -> AbstractContextManager[Any]:
    """The device module makes no pool tokens, as torch.accelerator makes none: they come from pool() of a graph."""
    return stated(module=Lacking(reference_impl.accelerator, ["graph_pool_handle", "MemPool"]))
