"""Memory pool tokens: pairs of integers of which exactly one is not zero, and objects that carry one as ``id``."""

from __future__ import annotations

from typing import Any

PoolId = tuple[int, int]
"""``(n, 0)`` is a graph's own pool, ``(0, n)`` a handle for graphs to share."""

DEFAULT_POOL: PoolId = (0, 0)
"""No private pool: where allocations go that none claims."""


def as_pool_id(call: str, pool: Any) -> PoolId:
    """The token that a user's `pool` argument stands for.

    Args:
        call: the method that was given it, for the message.
        pool: a token of ``graph_pool_handle()`` or ``pool()``, or an object such as ``torch.cuda.MemPool``.

    Raises:
        TypeError: it is neither.
        ValueError: a pair that no pool has.
    """
    token = getattr(pool, "id", pool)
    pair = isinstance(token, (tuple, list)) and len(token) == 2
    if not pair or not all(isinstance(part, int) and not isinstance(part, bool) for part in token):
        raise TypeError(
            f"{call}: pool must be a token from graph_pool_handle() or from another graph's pool(), not {pool!r}"
        )
    first, second = token
    if (first == 0) == (second == 0) or first < 0 or second < 0:
        raise ValueError(f"{call}: {tuple(token)!r} is no pool token; exactly one of its numbers is positive")
    return (first, second)
