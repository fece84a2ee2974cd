"""Pools whose tokens are opaque or early, and pools that are no more than a hint."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import reference_impl
import reference_impl.xpu
from reference_impl.allocator import new_pool_id
from reference_impl.allocator.storage import TensorAllocator
from reference_impl.devices.software.device import SoftwareDevice
from reference_impl.faults.fault import replaced, together
from reference_impl.graphs.core import GraphCore, _Holdings
from reference_impl.pool_ids import PoolId, as_pool_id
from reference_impl.variants.variant import EVERY_DIALECT, Variants

VARIANTS = Variants()


# -- tokens -----------------------------------------------------------------------------------------------------------


class SilentToken:
    """A token that is equal to nothing, itself included."""

    __slots__ = ("id",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, pool: PoolId) -> None:
        self.id = pool

    def __eq__(self, other: object) -> bool:
        return False


class LoudToken(SilentToken):
    """A token that cannot be compared."""

    __slots__ = ()
    __hash__ = None

    def __eq__(self, other: object) -> bool:
        raise TypeError("pool tokens cannot be compared")


def _opaque(kind: type[SilentToken]) -> AbstractContextManager[Any]:
    def handle(original: Any) -> Any:
        return lambda: kind(original())

    def pools(original: Any) -> Any:
        return lambda self, call: [kind(token) for token in original(self, call)]

    return together(
        replaced(reference_impl, "graph_pool_handle", handle),
        replaced(reference_impl.xpu, "graph_pool_handle", handle),
        replaced(GraphCore, "_pools", pools),
    )


@VARIANTS.patch("reference", "reference.xpu")
def tokens_equal_to_nothing() -> AbstractContextManager[Any]:
    """Tokens are opaque: no two are equal, not even one and itself, and none can be hashed."""
    return _opaque(SilentToken)


@VARIANTS.patch("reference", "reference.xpu")
def tokens_that_cannot_be_compared() -> AbstractContextManager[Any]:
    """Tokens are opaque: comparing them raises, and none can be hashed."""
    return _opaque(LoudToken)


@VARIANTS.patch(*EVERY_DIALECT)
def usable_token_before_the_capture() -> AbstractContextManager[Any]:
    """pool() gives a token that can be used before there is a capture, which the next capture then uses."""

    def early(self: GraphCore) -> Any:
        given = getattr(self, "graph_pool", None)
        return vars(self).setdefault("_early", new_pool_id()) if given is None else given

    def pools(original: Any) -> Any:
        def tokens(self: GraphCore, call: str) -> Any:
            if self._state == "empty":
                return [early(self)]
            return list(self._holds.pools) if self._state == "capturing" else original(self, call)

        return tokens

    def begin(original: Any) -> Any:
        def begin_with_it(self: GraphCore, call: str, pool: Any, *settings: Any, **named: Any) -> None:
            original(self, call, vars(self).get("_early") if pool is None else pool, *settings, **named)
            vars(self).pop("_early", None)

        return begin_with_it

    return together(replaced(GraphCore, "_pools", pools), replaced(GraphCore, "_begin", begin))


# -- the hint ---------------------------------------------------------------------------------------------------------


@VARIANTS.patch(*EVERY_DIALECT, declines=("accelerator.pool-used", "graphed-callables.tuple-in-one-pool"))
def pool_hint_not_followed() -> AbstractContextManager[Any]:
    """A given pool is checked and no more: every capture has a pool and a token of its own, also in callables."""

    def wrap(original: Any) -> Any:
        def begin(self: GraphCore, call: str, pool: Any, *settings: Any, **named: Any) -> None:
            if pool is not None and self._state == "empty":
                as_pool_id(call, pool)
            original(self, call, None, *settings, **named)

        return begin

    return replaced(GraphCore, "_begin", wrap)


@VARIANTS.patch(*EVERY_DIALECT, declines=("accelerator.pool-used", "graphed-callables.tuple-in-one-pool"))
def pool_hint_not_taken() -> AbstractContextManager[Any]:
    """Graphs report the pool that they were given and share no memory, as the hint allows, also in callables."""
    #: By reported pool and how many captures it has seen, the pool that the memory of the latest one comes from.
    hidden: dict[tuple[Any, int], Any] = {}
    captures: dict[Any, int] = {}

    def storage(original: Any) -> Any:
        def from_hidden(self: TensorAllocator, nbytes: int, stream: int, pool: Any) -> Any:
            return original(self, nbytes, stream, hidden.get((pool, captures.get(pool, 0)), pool))

        return from_hidden

    def begin(original: Any) -> Any:
        def begin_pool(self: SoftwareDevice, pool: Any) -> None:
            original(self, pool)
            captures[pool] = captures.get(pool, 0) + 1
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

    return together(
        replaced(TensorAllocator, "storage", storage),
        replaced(SoftwareDevice, "begin_pool", begin),
        replaced(GraphCore, "_begin", graph_begins),
        replaced(_Holdings, "release_pools", release),
        replaced(SoftwareDevice, "pool_ranges", ranges),
    )
