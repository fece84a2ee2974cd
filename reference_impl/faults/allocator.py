"""Defects of the allocator: which pool memory comes from, when it is reused, when it is released, what is counted."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from contextlib import AbstractContextManager
from typing import Any, ClassVar
from weakref import WeakSet

from reference_impl import CUDAGraph
from reference_impl.allocator import DEFAULT_POOL
from reference_impl.allocator.core import CachingAllocator
from reference_impl.allocator.heap import Heap
from reference_impl.allocator.memory import ALLOCATED, Segment
from reference_impl.allocator.pools import PoolTable
from reference_impl.allocator.statistics import Tally
from reference_impl.allocator.storage import TensorAllocator
from reference_impl.devices.software.device import SoftwareDevice
from reference_impl.faults.fault import Countdown, Faults, replaced, together
from reference_impl.graphs.core import GraphCore
from reference_impl.pool_ids import PoolId, as_pool_id
from reference_impl.runtime import captures

FAULTS = Faults("allocator")


def _storage(changed: Any) -> AbstractContextManager[Any]:
    """Let ``changed(nbytes, stream, pool)`` choose the pool of an allocation."""

    def wrap(original: Any) -> Any:
        def storage(self: TensorAllocator, nbytes: int, stream: int, pool: Any) -> Any:
            return original(self, nbytes, stream, changed(nbytes, stream, pool))

        return storage

    return replaced(TensorAllocator, "storage", wrap)


def _begun(changed: Any) -> AbstractContextManager[Any]:
    """Let ``changed(pool)`` choose the pool that a capture uses."""

    def wrap(original: Any) -> Any:
        def begin(self: GraphCore, call: str, pool: Any, mode: str, check_input_liveness: bool) -> None:
            original(self, call, changed(pool), mode, check_input_liveness)

        return begin

    return replaced(GraphCore, "_begin", wrap)


# -- which pool -------------------------------------------------------------------------------------------------------


_shared: list[Any] = []


def _one_pool(pool: Any) -> Any:
    from reference_impl.allocator import graph_pool_handle

    if not _shared:
        _shared.append(graph_pool_handle())
    return _shared[0] if pool is None else pool


@FAULTS.patch("pools.none-is-private", "pools.private-intermediates")
def pool_shared_unasked() -> AbstractContextManager[Any]:
    """Graphs that are given no pool share one, so that each replay destroys the others' intermediate values."""
    return _begun(_one_pool)


@FAULTS.patch("pools.handles-isolate")
def handles_share_one_pool() -> AbstractContextManager[Any]:
    """All tokens of graph_pool_handle() stand for one pool."""

    def changed(pool: Any) -> Any:
        return (0, 1) if isinstance(pool, tuple) and pool[0] == 0 and pool[1] > 0 else pool

    return _begun(changed)


@FAULTS.patch("pools.handle-unique")
def handles_repeat() -> AbstractContextManager[Any]:
    """graph_pool_handle() gives the same token again every second time."""
    last: list[Any] = []

    def wrap(original: Any) -> Any:
        def handle(self: SoftwareDevice) -> Any:
            if last:
                return last.pop()
            last.append(original(self))
            return last[0]

        return handle

    return replaced(SoftwareDevice, "graph_pool_handle", wrap)


@FAULTS.patch("pools.handle-unique")
def handles_are_counted_in_a_byte() -> AbstractContextManager[Any]:
    """After 256 tokens graph_pool_handle() begins again."""
    calls = itertools.count()

    def wrap(_original: Any) -> Any:
        return lambda self: (0, (1 << 20) + next(calls) % 256)

    return replaced(SoftwareDevice, "graph_pool_handle", wrap)


@FAULTS.patch("pools.handle-unique")
def handles_of_each_thread_alike() -> AbstractContextManager[Any]:
    """graph_pool_handle() counts for each thread by itself, so that two threads get equal tokens."""
    of_thread = threading.local()

    def wrap(_original: Any) -> Any:
        def handle(self: SoftwareDevice) -> Any:
            of_thread.last = vars(of_thread).get("last", 1 << 20) + 1
            return (0, of_thread.last)

        return handle

    return replaced(SoftwareDevice, "graph_pool_handle", wrap)


@FAULTS.patch("pools.token-stable", "capture.pool-token")
def token_differs_at_every_call() -> AbstractContextManager[Any]:
    """pool() does not say which pool the graph uses, but makes a token up."""

    def wrap(original: Any) -> Any:
        def pools(self: GraphCore, call: str) -> Any:
            original(self, call)
            return [self._device.graph_pool_handle()]

        return pools

    return replaced(GraphCore, "_pools", wrap)


@FAULTS.patch("misuse.pool-needs-capture", "pools.token-before-capture")
def token_before_the_capture() -> AbstractContextManager[Any]:
    """pool() makes a token up before there is a capture, and the capture then uses another."""

    def wrap(original: Any) -> Any:
        def pools(self: GraphCore, call: str) -> Any:
            return [self._device.graph_pool_handle()] if self._state == "empty" else original(self, call)

        return pools

    return replaced(GraphCore, "_pools", wrap)


@FAULTS.patch("pools.eager-memory-separate", "pools.private-intermediates")
def captures_use_ordinary_memory() -> AbstractContextManager[Any]:
    """Captured allocations come from ordinary memory, which eager work gets as soon as the capture lets it go."""
    return _storage(lambda nbytes, stream, pool: DEFAULT_POOL)


@FAULTS.patch("pools.eager-memory-separate", "pools.private-intermediates")
def large_tensors_miss_the_pool() -> AbstractContextManager[Any]:
    """Allocations above one megabyte come from ordinary memory, also in a capture."""
    return _storage(lambda nbytes, _, pool: DEFAULT_POOL if nbytes > 1 << 20 else pool)


@FAULTS.patch("pools.forked-memory-private")
def forked_streams_miss_the_pool() -> AbstractContextManager[Any]:
    """What is allocated on a stream that was forked from the capture comes from ordinary memory."""

    def changed(_: int, stream: int, pool: Any) -> Any:
        origins = [each.origin.handle for each in captures.live]
        return pool if not origins or stream in origins else DEFAULT_POOL

    return _storage(changed)


@FAULTS.patch("pools.eager-memory-separate")
def eager_work_draws_from_pools() -> AbstractContextManager[Any]:
    """While a graph lives, free memory of its pool is given to eager work too."""
    latest: list[Any] = []

    def changed(_: int, __: int, pool: Any) -> Any:
        if pool != DEFAULT_POOL:
            latest[:] = [pool]
            return pool
        return latest[0] if latest and not captures.live else pool

    return _storage(changed)


@FAULTS.graph_class("pools.list")
class PoolsAsATuple(CUDAGraph):
    """pools() gives a tuple where a list is documented."""

    def pools(self) -> Any:
        return tuple(super().pools())


@FAULTS.graph_class("pools.token-names-memory")
class SharesInNameOnly(CUDAGraph):
    """A graph repeats the token that it was given, and captures into a pool of its own."""

    _named: Any = None

    def _begin(self, call: str, pool: Any, mode: str, check_input_liveness: bool) -> None:
        self._named = None if pool is None else as_pool_id(call, pool)
        super()._begin(call, None, mode, check_input_liveness)

    def _pools(self, call: str) -> list[PoolId]:
        own = super()._pools(call)
        return own if self._named is None else [self._named]


@FAULTS.graph_class("pools.token-names-memory")
class ThirdSharerIsLeftOut(SharesInNameOnly):
    """Two captures share a pool by its token; those that come later repeat the token and have pools of their own."""

    _sharers: ClassVar[Counter[PoolId]] = Counter()

    def _begin(self, call: str, pool: Any, mode: str, check_input_liveness: bool) -> None:
        token = None if pool is None else as_pool_id(call, pool)
        if token is not None and self._sharers[token] >= 2:
            super()._begin(call, token, mode, check_input_liveness)
            return
        self._named = None
        CUDAGraph._begin(self, call, token, mode, check_input_liveness)
        if token is not None:
            self._sharers[token] += 1


@FAULTS.graph_class("pools.mempool-names-pool")
class PoolObjectsForgotten(CUDAGraph):
    """A MemPool is taken and forgotten: each graph has a pool of its own."""

    def _begin(self, call: str, pool: Any, mode: str, check_input_liveness: bool) -> None:
        super()._begin(call, None if hasattr(pool, "id") else pool, mode, check_input_liveness)


@FAULTS.graph_class("pools.list-own-only")
class PoolsTwice(CUDAGraph):
    """pools() lists the pool once for its memory and once for its token."""

    def pools(self) -> list[PoolId]:
        return [token for token in super().pools() for _ in range(2)]


@FAULTS.graph_class("pools.list-own-only")
class PoolsOfAllGraphs(CUDAGraph):
    """pools() lists the pools that any graph keeps, its own first."""

    _alive: ClassVar[WeakSet[CUDAGraph]] = WeakSet()

    def _begun(self) -> None:
        self._alive.add(self)
        super()._begun()

    def pools(self) -> list[PoolId]:
        own = super().pools()
        return own + [token for graph in self._alive for token in graph._holds.pools if token not in own]


# -- reuse ------------------------------------------------------------------------------------------------------------


@FAULTS.patch("pools.reuse-inside-capture", "pools.view-keeps-memory", "capture.intermediates")
def memory_handed_out_twice() -> AbstractContextManager[Any]:
    """In a capture every second block of a size gets the address of the one before, though that is in use."""
    countdown = Countdown(2)
    blocks: dict[tuple[Any, int], Any] = {}

    def wrap(original: Any) -> Any:
        def allocate(self: CachingAllocator, nbytes: int, stream: int, pool: Any = DEFAULT_POOL) -> Any:
            block = original(self, nbytes, stream, pool)
            if pool == DEFAULT_POOL or not block.address:
                return block
            before = blocks.get((pool, block.size))
            if before is not None and before.state is ALLOCATED and countdown.due():
                block.address = before.address
                block.segment = before.segment
            blocks[pool, block.size] = block
            return block

        return allocate

    return replaced(CachingAllocator, "allocate", wrap)


@FAULTS.patch("pools.no-growth-over-graphs", "pools.memory-returns-after-reset")
def memory_never_reused() -> AbstractContextManager[Any]:
    """What is freed in a pool is never handed out again, nor given back."""

    def wrap(original: Any) -> Any:
        def reclaim(self: CachingAllocator, block: Any) -> bool:
            return True if block.pool != DEFAULT_POOL else bool(original(self, block))

        return reclaim

    return replaced(CachingAllocator, "reclaim", wrap)


@FAULTS.patch("pools.tensors-outlive-graph", "reset.outputs-stay-theirs")
def release_frees_live_tensors() -> AbstractContextManager[Any]:
    """When the last graph of a pool goes, its memory is handed out again although tensors in it are alive."""

    def wrap(original: Any) -> Any:
        def release(self: CachingAllocator, pool: Any) -> None:
            original(self, pool)
            if self.use_count(pool) == 0:
                for segment in self._heap.segments():
                    if segment.pool == pool:
                        for block in segment.blocks():
                            self.poison(block.address, block.size, segment.stream)

        return release

    return replaced(CachingAllocator, "release_pool", wrap)


@FAULTS.patch("pools.survives-empty-cache", "pools.dropped-outputs")
def empty_cache_releases_held_pools() -> AbstractContextManager[Any]:
    """empty_cache() gives memory back that a living graph replays in, once no tensor is in it."""
    return replaced(PoolTable, "freeable", lambda _: lambda self, pool: pool not in self._recording)


@FAULTS.patch("pools.lives-while-used", "reset.shared-pool-survives")
def uses_are_not_counted() -> AbstractContextManager[Any]:
    """A pool is released with the first graph that leaves it, whoever else shares it."""

    def wrap(original: Any) -> Any:
        def release(self: PoolTable, pool: Any) -> None:
            if self._counts.get(pool, 0) > 1:
                self._counts[pool] = 1
            if pool in self._counts:
                original(self, pool)

        return release

    return replaced(PoolTable, "release", wrap)


@FAULTS.patch("pools.lives-while-used")
def uses_are_counted_to_two() -> AbstractContextManager[Any]:
    """However many graphs share a pool, it is released with the second that leaves it."""

    def wrap_retain(original: Any) -> Any:
        def retain(self: PoolTable, pool: Any) -> None:
            original(self, pool)
            self._counts[pool] = min(2, self._counts[pool])

        return retain

    def wrap_release(original: Any) -> Any:
        def release(self: PoolTable, pool: Any) -> None:
            if pool in self._counts:
                original(self, pool)

        return release

    return together(replaced(PoolTable, "retain", wrap_retain), replaced(PoolTable, "release", wrap_release))


@FAULTS.patch("pools.memory-returns-after-reset", "pools.memory-returns-after-delete")
def pools_are_never_released() -> AbstractContextManager[Any]:
    """The use that a capture counts is never taken back."""
    return replaced(CachingAllocator, "release_pool", lambda _: lambda self, pool: None)


@FAULTS.patch("pools.shared-memory-returns")
def shared_pools_are_never_released() -> AbstractContextManager[Any]:
    """A pool that more than one graph used is never released: one use too many is counted."""

    def wrap(original: Any) -> Any:
        def begin(self: PoolTable, pool: Any) -> None:
            if self._counts.get(pool, 0) == 1:
                self.retain(pool)
            original(self, pool)

        return begin

    return replaced(PoolTable, "begin", wrap)


@FAULTS.patch("pools.usable-after-concurrent", "pools.refused-concurrent-harmless")
def refused_begin_keeps_the_pool() -> AbstractContextManager[Any]:
    """A second capture into a pool underway is refused, and the pool stays taken when the first one ends."""

    def wrap(original: Any) -> Any:
        def begin(self: PoolTable, pool: Any) -> None:
            if pool in self._recording:
                self.__dict__.setdefault("_stuck", set()).add(pool)
            if pool in self.__dict__.get("_stuck", ()):
                self._recording.add(pool)
            original(self, pool)

        return begin

    return replaced(PoolTable, "begin", wrap)


@FAULTS.patch("pools.replay-allocates-nothing")
def replay_allocates() -> AbstractContextManager[Any]:
    """Every replay takes a block of memory and keeps it."""
    blocks: list[Any] = []

    def wrap(original: Any) -> Any:
        def launch(self: GraphCore, call: str) -> None:
            original(self, call)
            if isinstance(self._device, SoftwareDevice):
                stream = self._device.current_stream().cuda_stream
                blocks.append(self._device.allocator.storage(1 << 20, stream, DEFAULT_POOL))

        return launch

    return replaced(GraphCore, "_launch", wrap)


@FAULTS.patch("pools.live-outputs-kept")
def second_graph_reuses_the_firsts_outputs() -> AbstractContextManager[Any]:
    """A second capture into a pool begins at the pool's start and writes over living tensors of the first."""

    def wrap(original: Any) -> Any:
        def begin(self: CachingAllocator, pool: Any) -> None:
            original(self, pool)
            if self.use_count(pool) > 1:
                self.__dict__.setdefault("_rewound", {})[pool] = [
                    block for segment in self._heap.segments() if segment.pool == pool for block in segment.blocks()
                ]

        return begin

    def allocated(original: Any) -> Any:
        def allocate(self: CachingAllocator, nbytes: int, stream: int, pool: Any = DEFAULT_POOL) -> Any:
            block = original(self, nbytes, stream, pool)
            for old in self.__dict__.get("_rewound", {}).get(pool, ()):
                if old.state is ALLOCATED and old.size == block.size and old.address != block.address:
                    block.address, block.segment = old.address, old.segment
                    break
            return block

        return allocate

    return together(
        replaced(CachingAllocator, "begin_allocate_to_pool", wrap), replaced(CachingAllocator, "allocate", allocated)
    )


@FAULTS.patch("capture.intermediates", "replay.dtypes", "replay.performs-work")
def blocks_overlap() -> AbstractContextManager[Any]:
    """Sizes are rounded down to 64 bytes in private pools, so that tensors of odd sizes share their last bytes."""

    def wrap(original: Any) -> Any:
        def take(self: Heap, size: int, requested: int, stream: int, pool: Any) -> Any:
            block = original(self, size, requested, stream, pool)
            if block is not None and pool != DEFAULT_POOL and requested % 64 and block.prev is not None:
                block.address -= 64
            return block

        return take

    return replaced(Heap, "take", wrap)


@FAULTS.patch("failed-capture.held-pool-stays")
def failed_capture_releases_the_others() -> AbstractContextManager[Any]:
    """A capture that fails in a shared pool releases the pool for everyone."""
    from reference_impl.errors import DeviceError

    def wrap(original: Any) -> Any:
        def end(self: GraphCore, call: str) -> None:
            pools = list(self._holds.pools) if self._holds.capture is not None else []
            try:
                original(self, call)
            except DeviceError:
                for pool in pools:
                    while getattr(self._device, "allocator").use_count(pool):  # noqa: B009  # the software device's own
                        self._device.release_pool(pool)
                self._device.empty_cache()
                raise

        return end

    return replaced(GraphCore, "_end", wrap)


@FAULTS.patch("pools.not-reused-across-streams", implementation="reference.asynchronous")
def memory_reused_across_streams() -> AbstractContextManager[Any]:
    """A block that one stream freed is given to another at once, while the first may still work in it."""

    def wrap(original: Any) -> Any:
        def take(self: Heap, size: int, requested: int, stream: int, pool: Any) -> Any:
            for key, arena in self._arenas.items():
                if key[0] == pool and key[1] != stream and arena.small == (size <= 1 << 20) and arena.free:
                    return original(self, size, requested, key[1], pool)
            return original(self, size, requested, stream, pool)

        return take

    return replaced(Heap, "take", wrap)


# -- statistics -------------------------------------------------------------------------------------------------------


@FAULTS.patch("pools.live-output-counted")
def pool_memory_is_not_counted() -> AbstractContextManager[Any]:
    """memory_allocated() leaves private pools out."""

    def wrap(original: Any) -> Any:
        def allocated(self: CachingAllocator) -> int:
            hidden = sum(
                block.size
                for segment in self._heap.segments()
                if segment.pool != DEFAULT_POOL
                for block in segment.blocks()
                if block.state is ALLOCATED
            )
            return int(original(self)) - hidden

        return allocated

    return replaced(CachingAllocator, "memory_allocated", wrap)


@FAULTS.patch("pools.memory-returns-after-reset", "failed-capture.allocated-memory-returns")
def freed_bytes_stay_counted() -> AbstractContextManager[Any]:
    """memory_allocated() only ever grows: what is given up is not taken off."""

    def wrap(original: Any) -> Any:
        def returned(self: Tally, size: int, requested: int) -> None:
            original(self, 0, requested)
            del size

        return returned

    return replaced(Tally, "returned", wrap)


@FAULTS.patch("pools.memory-returns-after-reset", "pools.no-growth-over-graphs")
def released_segments_stay_counted() -> AbstractContextManager[Any]:
    """memory_reserved() only ever grows: segments that were given back are not taken off."""

    def wrap(original: Any) -> Any:
        def reserved(self: Tally, segments: int, nbytes: int) -> None:
            if segments > 0:
                original(self, segments, nbytes)

        return reserved

    return replaced(Tally, "reserved", wrap)


@FAULTS.patch("pools.memory-returns-after-error", "failed-capture.reserved-memory-returns")
def segments_of_pools_are_kept() -> AbstractContextManager[Any]:
    """Segments of private pools are never given back, whoever uses them."""

    def wrap(original: Any) -> Any:
        def wholly_free(self: Segment) -> bool:
            return self.pool == DEFAULT_POOL and bool(original.fget(self))

        return property(wholly_free)

    return replaced(Segment, "wholly_free", wrap)
