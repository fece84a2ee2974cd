"""Context managers that are wrong."""

from __future__ import annotations

import contextlib
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

import reference_impl
from reference_impl.accelerator import Graph
from reference_impl.faults.fault import Faults, replaced, together
from reference_impl.graphs import context
from reference_impl.graphs.context import CaptureContext

FAULTS = Faults("class")


@FAULTS.patch("context-manager.restores-stream")
def context_leaves_its_stream_current() -> AbstractContextManager[Any]:
    """After the block the capture stream stays current."""

    def wrap(_original: Any) -> Any:
        def leave(self: CaptureContext, *_: Any) -> None:
            self._target.capture_end()

        return leave

    return replaced(CaptureContext, "__exit__", wrap)


@FAULTS.patch("context-manager.restores-stream-after-failed-end")
def context_restores_only_after_success() -> AbstractContextManager[Any]:
    """When the capture's end fails, the capture stream stays current."""

    def wrap(_original: Any) -> Any:
        def leave(self: CaptureContext, *_: Any) -> None:
            self._target.capture_end()
            reference_impl.set_stream(self._outer)

        return leave

    return replaced(CaptureContext, "__exit__", wrap)


@FAULTS.patch("context-manager.restores-stream-after-failed-begin")
def context_leaves_its_stream_after_a_failed_begin() -> AbstractContextManager[Any]:
    """When capture_begin refuses, the capture stream stays current, since nothing leaves the block."""

    def wrap(_original: Any) -> Any:
        def enter(self: CaptureContext) -> None:
            context.free_memory()
            self._outer = reference_impl.current_stream()
            reference_impl.set_stream(self.capture_stream)
            self._target.capture_begin(**self._settings)

        return enter

    return replaced(CaptureContext, "__enter__", wrap)


@FAULTS.patch("context-manager.exception-ends-capture", "context-manager.usable-after-exception")
def context_ends_nothing_after_an_exception() -> AbstractContextManager[Any]:
    """When the body raises, the capture is left underway."""

    def wrap(original: Any) -> Any:
        def leave(self: CaptureContext, kind: Any, error: Any, trace: Any) -> None:
            if kind is None:
                original(self, kind, error, trace)
            else:
                reference_impl.set_stream(self._outer)

        return leave

    return replaced(CaptureContext, "__exit__", wrap)


@FAULTS.patch("context-manager.exception-propagates")
def context_swallows_exceptions() -> AbstractContextManager[Any]:
    """What the body raises disappears."""

    def wrap(original: Any) -> Any:
        def leave(self: CaptureContext, kind: Any, error: Any, trace: Any) -> bool:
            with contextlib.suppress(RuntimeError):
                original(self, kind, error, trace)
            return kind is not None

        return leave

    return replaced(CaptureContext, "__exit__", wrap)


@FAULTS.patch("context-manager.exception-reachable")
def context_hides_the_bodys_exception() -> AbstractContextManager[Any]:
    """When body and capture both fail, only the capture's error can be seen."""

    def wrap(original: Any) -> Any:
        def leave(self: CaptureContext, kind: Any, error: Any, trace: Any) -> None:
            failure: BaseException | None = None
            try:
                original(self, kind, error, trace)
            except RuntimeError as raised:
                failure = raised
            if failure is not None:
                error.__cause__ = error.__context__ = None
                failure = type(failure).__new__(type(failure))
                RuntimeError.__init__(failure, "the capture failed")
                try:
                    raise failure from None
                finally:
                    failure.__context__ = None

        return leave

    return replaced(CaptureContext, "__exit__", wrap)


@FAULTS.patch("context-manager.failed-end-raises")
def context_hides_a_failed_end() -> AbstractContextManager[Any]:
    """The capture's end fails, and the block ends as if it had not."""

    def wrap(original: Any) -> Any:
        def leave(self: CaptureContext, *raised: Any) -> None:
            with contextlib.suppress(RuntimeError):
                original(self, *raised)

        return leave

    return replaced(CaptureContext, "__exit__", wrap)


def _with_argument(changed: Any) -> AbstractContextManager[Any]:
    def wrap(original: Any) -> Any:
        def init(self: CaptureContext, target: Any, stream: Any, settings: dict[str, Any]) -> None:
            original(self, target, *changed(stream, dict(settings)))

        return init

    return replaced(CaptureContext, "__init__", wrap)


@FAULTS.patch("context-manager.given-stream")
def context_ignores_its_stream() -> AbstractContextManager[Any]:
    """The stream argument is taken and forgotten."""
    return _with_argument(lambda _, settings: (None, settings))


@FAULTS.patch("context-manager.own-stream")
def context_uses_the_current_stream() -> AbstractContextManager[Any]:
    """Without a stream argument the block captures on the stream that is current, the default one mostly."""
    return _with_argument(lambda stream, settings: (stream or reference_impl.current_stream(), settings))


@FAULTS.patch("error-modes.context-passes-mode")
def context_ignores_its_mode() -> AbstractContextManager[Any]:
    """The error mode is taken and forgotten."""
    return _with_argument(lambda stream, settings: (stream, {**settings, "capture_error_mode": "global"}))


@FAULTS.patch("context-manager.pool-passed-on")
def context_ignores_its_pool() -> AbstractContextManager[Any]:
    """The pool is taken and forgotten."""
    return _with_argument(lambda stream, settings: (stream, {**settings, "pool": None}))


@FAULTS.patch("context-manager.calls-the-graph")
def context_goes_past_overrides() -> AbstractContextManager[Any]:
    """The block calls the methods of CUDAGraph, whatever class the graph is of: a subclass's own are passed by."""

    class Plain:
        def __init__(self, target: Any) -> None:
            self._target = target

        def capture_begin(self, **settings: Any) -> None:
            reference_impl.CUDAGraph.capture_begin(self._target, **settings)

        def capture_end(self) -> None:
            reference_impl.CUDAGraph.capture_end(self._target)

    def wrap(original: Any) -> Any:
        def init(self: CaptureContext, target: Any, stream: Any, settings: dict[str, Any]) -> None:
            original(self, Plain(target), stream, settings)

        return init

    return replaced(CaptureContext, "__init__", wrap)


@FAULTS.patch("context-manager.waits-before-capture", implementation="reference.asynchronous")
def context_does_not_wait() -> AbstractContextManager[Any]:
    """Entering empties the cache while the device is still at work."""

    def wrap(_original: Any) -> Any:
        def free_memory() -> None:
            reference_impl.empty_cache()

        return free_memory

    return replaced(context, "free_memory", wrap)


@FAULTS.patch("context-manager.own-stream")
def context_uses_the_callers_side_stream() -> AbstractContextManager[Any]:
    """Without a stream argument the block captures on the current stream, unless that is the default one."""

    def changed(stream: Any, settings: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        here = reference_impl.current_stream()
        return (stream or (None if here == reference_impl.default_stream() else here), settings)

    return _with_argument(changed)


@FAULTS.patch("context-manager.restores-stream")
def context_restores_the_stream_it_was_made_under() -> AbstractContextManager[Any]:
    """After the block the stream is current that was so when the block was made, not when it was entered."""

    def makes(original: Any) -> Any:
        def init(self: CaptureContext, *arguments: Any) -> None:
            original(self, *arguments)
            vars(self)["_made_under"] = reference_impl.current_stream()

        return init

    def enters(original: Any) -> Any:
        def enter(self: CaptureContext) -> None:
            original(self)
            self._outer = vars(self)["_made_under"]

        return enter

    return together(replaced(CaptureContext, "__init__", makes), replaced(CaptureContext, "__enter__", enters))


@FAULTS.patch("context-manager.consecutive")
def context_knows_the_newest_block() -> AbstractContextManager[Any]:
    """What a block is for stands on the class: the block made last decides for all that are not yet entered."""
    newest: list[Any] = []

    def makes(original: Any) -> Any:
        def init(self: CaptureContext, target: Any, *arguments: Any) -> None:
            original(self, target, *arguments)
            newest[:] = [target]

        return init

    def enters(original: Any) -> Any:
        def enter(self: CaptureContext) -> None:
            self._target = newest[0]
            original(self)

        return enter

    return together(replaced(CaptureContext, "__init__", makes), replaced(CaptureContext, "__enter__", enters))


@FAULTS.patch("signatures.graph-context-liveness")
def context_refuses_liveness() -> AbstractContextManager[Any]:
    """The context manager does not know check_input_liveness."""

    def wrap(_original: Any) -> Any:
        class Graph(CaptureContext):
            def __init__(
                self, cuda_graph: Any, pool: Any = None, stream: Any = None, capture_error_mode: str = "global"
            ) -> None:
                super().__init__(cuda_graph, stream, {"pool": pool, "capture_error_mode": capture_error_mode})

        return Graph

    return replaced(reference_impl, "graph", wrap)


@FAULTS.patch("context-manager.consecutive", implementation="reference.xpu")
def xpu_context_works_once() -> AbstractContextManager[Any]:
    """From the second block on, work is not captured but runs: the recording flag of the queue is never set again."""
    entered: list[int] = []

    def wrap(original: Any) -> Any:
        def enter(self: CaptureContext) -> None:
            original(self)
            entered.append(1)
            if len(entered) > 1:
                reference_impl.set_stream(self._outer)

        return enter

    def ends(original: Any) -> Any:
        def leave(self: CaptureContext, *raised: Any) -> None:
            reference_impl.set_stream(self.capture_stream)
            original(self, *raised)

        return leave

    return together(replaced(CaptureContext, "__enter__", wrap), replaced(CaptureContext, "__exit__", ends))


@FAULTS.graph_class("context-manager.on-current-stream", implementation="reference.accelerator")
class AcceleratorUsesItsOwnStream(Graph):
    """The block captures on a hidden side stream; work on the stream that the user made current is not captured."""

    def __enter__(self) -> None:
        here = self._device.current_stream()
        self._hidden = self._device.new_stream()
        self._device.set_stream(self._hidden)
        super().__enter__()
        self._device.set_stream(here)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        here = self._device.current_stream()
        self._device.set_stream(self._hidden)
        try:
            super().__exit__(kind, error, trace)
        finally:
            self._device.set_stream(here)


@FAULTS.graph_class("context-manager.exception-ends-capture", implementation="reference.accelerator")
class AcceleratorEndsNothingAfterAnException(Graph):
    """When the body raises, the capture is left underway."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            super().__exit__(kind, error, trace)
