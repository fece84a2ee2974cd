"""Other orders, other memory, other moments than the reference's."""

from __future__ import annotations

import gc
import json
import pathlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch

from reference_impl.allocator import DEFAULT_POOL
from reference_impl.allocator import core as allocator
from reference_impl.devices.software.device import SoftwareDevice
from reference_impl.devices.software.kernels import OperatorKernel
from reference_impl.devices.software.recorder import _Recording
from reference_impl.devices.software.sinks import SoftwareCapture
from reference_impl.faults.fault import replaced, together
from reference_impl.graphs import debugging
from reference_impl.graphs.context import CaptureContext
from reference_impl.graphs.core import GraphCore
from reference_impl.graphs.hooks import Hooks
from reference_impl.runtime import executables, scheduler
from reference_impl.runtime.captures import Capture
from reference_impl.runtime.kernels import KernelCall
from reference_impl.runtime.orders import _with_serial, topological
from reference_impl.runtime.streams import events
from reference_impl.runtime.templates import Empty, Node
from reference_impl.variants.variant import CUDA, EVERY_DIALECT, EVERYWHERE, Variants

VARIANTS = Variants()


def _order(direction: int) -> AbstractContextManager[Any]:
    def wrap(_original: Any) -> Any:
        def draw_orders(waits: Any, serial: Sequence[Any]) -> list[list[int]]:
            return [topological(_with_serial(waits, serial), lambda place: direction * place)]

        return draw_orders

    return replaced(executables, "draw_orders", wrap)


@VARIANTS.patch(*CUDA)
def oldest_node_first() -> AbstractContextManager[Any]:
    """Independent nodes run in the order of their capture, every time."""
    return _order(1)


@VARIANTS.patch(*CUDA)
def newest_node_first() -> AbstractContextManager[Any]:
    """Of independent nodes the newest runs first, every time."""
    return _order(-1)


@VARIANTS.patch("reference", "reference.xpu")
def further_nodes() -> AbstractContextManager[Any]:
    """A captured operator makes two nodes: one that does its work, behind one that does nothing."""

    def wrap(original: Any) -> Any:
        def append(self: Capture, stream: Any, payload: Any) -> Any:
            original(self, stream, Empty())
            return original(self, stream, payload)

        return append

    return replaced(Capture, "append", wrap)


@VARIANTS.patch("reference", "reference.asynchronous")
def memory_reserved_ahead() -> AbstractContextManager[Any]:
    """A pool gets its first segments when the capture begins, whether anything needs them or not."""

    def wrap(original: Any) -> Any:
        def begin_pool(self: SoftwareDevice, pool: Any) -> None:
            original(self, pool)
            stream = self.current_stream().cuda_stream
            for nbytes in (512, (1 << 20) + 1):
                self.allocator.free(self.allocator.allocate(nbytes, stream, pool))

        return begin_pool

    return replaced(SoftwareDevice, "begin_pool", wrap)


@VARIANTS.patch(*CUDA)
def memory_reserved_exactly() -> AbstractContextManager[Any]:
    """Every allocation that finds no free block takes just what it needs from the system."""
    return replaced(allocator, "round_segment", lambda _: lambda size: size)


@VARIANTS.patch(*CUDA)
def live_hooks() -> AbstractContextManager[Any]:
    """Hooks are looked up one by one while they are called: one that is removed meanwhile is not called any more."""

    def wrap(_original: Any) -> Any:
        def fire(self: Hooks, argument: Any) -> None:
            for number in list(self):
                hook = self.get(number)
                if hook is not None:
                    hook(argument)

        return fire

    return replaced(Hooks, "fire", wrap)


@VARIANTS.patch("reference", "reference.xpu")
def context_gives_the_graph() -> AbstractContextManager[Any]:
    """The context manager gives the graph to `as`."""

    def wrap(original: Any) -> Any:
        def enter(self: CaptureContext) -> Any:
            original(self)
            return self._target

        return enter

    return replaced(CaptureContext, "__enter__", wrap)


@VARIANTS.patch("reference.xpu", "reference.accelerator")
def dumps_something_else() -> AbstractContextManager[Any]:
    """Where the documents name no format, debug_dump writes JSON."""

    def wrap(original: Any) -> Any:
        def print_dot(graph: GraphCore, call: str, path: Any, *, verbose: bool = True) -> None:
            original(graph, call, path, verbose=verbose)
            nodes = pathlib.Path(path).read_text(encoding="utf-8").count("label")
            pathlib.Path(path).write_text(json.dumps({"nodes": [*range(nodes)]}), encoding="utf-8")

        return print_dot

    return replaced(debugging, "print_dot", wrap)


@VARIANTS.patch("reference.accelerator")
def garbage_collected_at_every_step() -> AbstractContextManager[Any]:
    """The garbage collector runs whenever a capture begins, for young objects also whenever one ends."""

    def collecting(generation: int) -> Callable[[Any], Any]:
        def wrap(original: Any) -> Any:
            def collect_first(self: GraphCore, *arguments: Any, **settings: Any) -> Any:
                gc.collect(generation)
                return original(self, *arguments, **settings)

            return collect_first

        return wrap

    return together(replaced(GraphCore, "_begin", collecting(2)), replaced(GraphCore, "_end", collecting(0)))


@VARIANTS.patch("reference.asynchronous")
def runs_as_soon_as_it_can() -> AbstractContextManager[Any]:
    """Replays are driven to their end when they are launched, while other work is still deferred."""

    def wrap(original: Any) -> Any:
        def launch(self: executables.Executable, stream: Any) -> None:
            original(self, stream)
            work = scheduler.policy.deferred
            if work is not None and self.latest is not None:
                work.drive([self.latest])

        return launch

    return replaced(executables.Executable, "launch", wrap)


# -- one node for several operators -----------------------------------------------------------------------------------


class _InTurn:
    """Runs kernels one after the other, however many were fused before."""

    def __init__(self, *kernels: Any) -> None:
        self._runs = [run for kernel in kernels for run in getattr(kernel.run, "_runs", [kernel.run])]

    def __call__(self) -> None:
        for run in self._runs:
            run()


def _fused(first: KernelCall, second: KernelCall) -> KernelCall:
    kernels = first.kernel, second.kernel
    memory = tuple({id(each): each for kernel in kernels for each in kernel.memory}.values())
    name = "+".join(kernel.name for kernel in kernels)
    return KernelCall(OperatorKernel(name, memory, None, _InTurn(*kernels)))


def _waited_for(capture: Capture, node: Node, stream: Any) -> bool:
    """Whether anything but the next work on `stream` is ordered behind `node`."""
    elsewhere = any(node in nodes for other, nodes in capture.streams.items() if other is not stream)
    marked = any(event.captured is not None and node.handle in event.captured[1] for event in events)
    return bool(node.dependents) or elsewhere or marked


@VARIANTS.patch(*EVERYWHERE)
def neighbours_fused() -> AbstractContextManager[Any]:
    """Operators that follow each other on one stream of a capture become one node, as a compiler would have it."""

    def wrap(original: Any) -> Any:
        def append(self: Capture, stream: Any, payload: Any) -> Any:
            last = self.streams[stream][0] if len(self.streams[stream]) == 1 else None
            own: set[int] = vars(self).setdefault("_own", set())
            if (
                last is not None
                and last.handle in own
                and last.handle in self.template.nodes
                and isinstance(last.payload, KernelCall)
                and isinstance(payload, KernelCall)
                and last.payload.kernel.serial is payload.kernel.serial is None
                and not _waited_for(self, last, stream)
            ):
                last.payload = _fused(last.payload, payload)
                return last
            node = original(self, stream, payload)
            own.add(node.handle)
            return node

        return append

    return replaced(Capture, "append", wrap)


# -- inputs -----------------------------------------------------------------------------------------------------------


class _Input:
    """A storage from outside that a kernel holds as long as it can be launched."""

    def __init__(self, storage: torch.UntypedStorage) -> None:
        self._storage = storage

    def acquire(self) -> torch.UntypedStorage:
        return self._storage


@VARIANTS.patch(*EVERY_DIALECT)
def captures_hold_their_inputs() -> AbstractContextManager[Any]:
    """A graph holds the memory that it reads from outside, unless it was asked to notice when that is deallocated."""

    def begin(original: Any) -> Any:
        def begin_capture(self: GraphCore, call: str, pool: Any, mode: str, check_input_liveness: bool) -> None:
            original(self, call, pool, mode, check_input_liveness)
            capture = self._device.current_stream().queue.capture
            if isinstance(capture.attached, SoftwareCapture):
                vars(capture.attached)["holds"] = not check_input_liveness

        return begin_capture

    def alias(original: Any) -> Any:
        def hold_and_alias(self: _Recording, tensor: torch.Tensor) -> torch.Tensor:
            storage = tensor.untyped_storage()
            segment = self._sink._memory.segment(storage.data_ptr())
            outside = segment is None or segment.segment.pool == DEFAULT_POOL
            if outside and vars(self._sink).get("holds", False):
                self._memory[-storage.data_ptr()] = _Input(storage)
            return original(self, tensor)  # type: ignore[no-any-return]

        return hold_and_alias

    return together(replaced(GraphCore, "_begin", begin), replaced(_Recording, "_alias", alias))
