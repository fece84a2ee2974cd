"""Pool ids, and which pools are in use or being recorded to."""

from __future__ import annotations

import itertools
import threading

from reference_impl.pool_ids import DEFAULT_POOL, PoolId, as_pool_id

_own = itertools.count(1)
_handles = itertools.count(1)
_ids = threading.Lock()


def new_pool_id() -> PoolId:
    """A fresh ``(n, 0)``, unique in this process: the pool that a graph makes for itself."""
    with _ids:
        return (next(_own), 0)


def graph_pool_handle() -> PoolId:
    """A fresh ``(0, n)``, unique in this process: a pool for several graphs to share."""
    with _ids:
        return (0, next(_handles))


class PoolTable:
    """Use counts of the private pools, and the set being recorded to.

    Each change is a single dictionary or set step under a re-entrant lock, so a graph that is finalized inside another
    change can still release its pool.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._counts: dict[PoolId, int] = {}
        self._recording: set[PoolId] = set()

    def begin(self, pool: PoolId) -> None:
        """Start recording to `pool` and count one more use; RuntimeError if already recording."""
        self._check_private("begin_allocate_to_pool", pool)
        with self._lock:
            if pool in self._recording:
                raise RuntimeError(
                    f"begin_allocate_to_pool: pool {pool} is already being recorded to; end that "
                    "capture first, or give this one another pool",
                )
            self._recording.add(pool)
            self.retain(pool)

    def end(self, pool: PoolId) -> None:
        """Stop recording to `pool`; its use count stays.  RuntimeError if not recording."""
        with self._lock:
            if pool not in self._recording:
                raise RuntimeError(
                    f"end_allocate_to_pool: pool {pool} is not being recorded to; call "
                    "begin_allocate_to_pool first, and end it once",
                )
            self._recording.discard(pool)

    def retain(self, pool: PoolId) -> None:
        """Count one more use, bringing a pool whose count fell to 0 back into use."""
        self._check_private("retain_pool", pool)
        with self._lock:
            self._counts.setdefault(pool, 0)
            self._counts[pool] += 1

    def release(self, pool: PoolId) -> None:
        """Count one use less; RuntimeError if there is none."""
        self._check_private("release_pool", pool)
        with self._lock:
            if self._counts.get(pool, 0) == 0:
                raise RuntimeError(
                    f"release_pool: pool {pool} is not in use; release a pool once for each "
                    "begin_allocate_to_pool or retain_pool",
                )
            self._counts[pool] -= 1
            if self._counts[pool] == 0:
                del self._counts[pool]

    def recording(self, pool: PoolId) -> bool:
        """Whether a capture is recording to `pool`."""
        return pool in self._recording

    def use_count(self, pool: PoolId) -> int:
        """Uses of `pool` not yet released; 0 for one never seen."""
        return self._counts.get(pool, 0)

    def used(self) -> set[PoolId]:
        """The private pools that are in use or being recorded to."""
        with self._lock:
            return set(self._counts) | self._recording

    def freeable(self, pool: PoolId) -> bool:
        """Whether wholly free segments of `pool` may go back to the system."""
        return pool not in self._counts and pool not in self._recording

    @staticmethod
    def _check_private(call: str, pool: PoolId) -> None:
        if pool == DEFAULT_POOL:
            raise RuntimeError(
                f"{call}: expected a private pool, got the default pool {pool}; take an id from "
                "graph_pool_handle() or new_pool_id()",
            )
        as_pool_id(call, pool)
