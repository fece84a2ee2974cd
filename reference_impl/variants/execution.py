"""Other orders, other memory, other moments than the reference's."""

from __future__ import annotations

import gc
import pathlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import reference_impl
from reference_impl.allocator import core as allocator
from reference_impl.allocator import new_pool_id
from reference_impl.allocator.storage import TensorAllocator
from reference_impl.devices.software.device import SoftwareDevice
from reference_impl.faults.fault import replaced, together
from reference_impl.graphs import debugging
from reference_impl.graphs.context import CaptureContext
from reference_impl.graphs.core import GraphCore, _Holdings
from reference_impl.graphs.hooks import Hooks
from reference_impl.runtime import executables, scheduler
from reference_impl.runtime.captures import Capture
from reference_impl.runtime.orders import _with_serial, topological
from reference_impl.runtime.templates import Empty
from reference_impl.variants.variant import CUDA, Variants

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


@VARIANTS.patch("reference", "reference.accelerator")
def pool_hint_not_taken() -> AbstractContextManager[Any]:
    """Graphs report the pool that they were given and share no memory, as the hint allows; graphed callables do."""
    #: By reported pool and how many captures it has seen, the pool that the memory of the latest one comes from.
    hidden: dict[tuple[Any, int], Any] = {}
    captures: dict[Any, int] = {}
    sharing: list[bool] = []

    def storage(original: Any) -> Any:
        def from_hidden(self: TensorAllocator, nbytes: int, stream: int, pool: Any) -> Any:
            return original(self, nbytes, stream, hidden.get((pool, captures.get(pool, 0)), pool))

        return from_hidden

    def begin(original: Any) -> Any:
        def begin_pool(self: SoftwareDevice, pool: Any) -> None:
            original(self, pool)
            captures[pool] = captures.get(pool, 0) + 1
            if sharing:
                return
            own = hidden[pool, captures[pool]] = new_pool_id()
            self.allocator.retain_pool(own)

        return begin_pool

    def let_go(holds: Any) -> None:
        own = hidden.pop(vars(holds).pop("key", None), None)
        if own is not None:
            holds.device.allocator.release_pool(own)

    def graph_begins(original: Any) -> Any:
        def begin(self: GraphCore, *arguments: Any, **settings: Any) -> None:
            before = dict(captures)
            try:
                original(self, *arguments, **settings)
            finally:
                for key in captures.items() - before.items():
                    vars(self._holds)["key"] = key
                if not self._holds.pools:  # refused
                    let_go(self._holds)

        return begin

    def release(original: Any) -> Any:
        def release_pools(self: _Holdings) -> None:
            original(self)
            let_go(self)

        return release_pools

    def ranges(original: Any) -> Any:
        def pool_ranges(self: SoftwareDevice, pools: Any) -> Any:
            tokens = set(pools)
            return original(self, [*tokens, *(own for key, own in hidden.items() if key[0] in tokens)])

        return pool_ranges

    def make(original: Any) -> Any:
        def make_graphed_callables(*arguments: Any, **settings: Any) -> Any:
            sharing.append(True)
            try:
                return original(*arguments, **settings)
            finally:
                sharing.pop()

        return make_graphed_callables

    return together(
        replaced(TensorAllocator, "storage", storage),
        replaced(SoftwareDevice, "begin_pool", begin),
        replaced(GraphCore, "_begin", graph_begins),
        replaced(_Holdings, "release_pools", release),
        replaced(SoftwareDevice, "pool_ranges", ranges),
        replaced(reference_impl, "make_graphed_callables", make),
    )


@VARIANTS.patch(*CUDA)
def live_hooks() -> AbstractContextManager[Any]:
    """Hooks are looked up one by one while they are called: one that is removed meanwhile is not called any more."""

    def wrap(_original: Any) -> Any:
        def fire(self: Hooks, argument: Any) -> None:
            for number in list(self._hooks):
                hook = self._hooks.get(number)
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
            pathlib.Path(path).write_text('{"nodes": ["one", "two"]}\n', encoding="utf-8")

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
