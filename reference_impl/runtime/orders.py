"""Orders in which a launch may run its nodes: legal ones, drawn to show a missing edge."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise

from reference_impl.runtime.adversary import adversary

Waits = Sequence[Sequence[int]]

ORDERS = 8
"""How many orders an executable alternates between, where its edges allow so many."""

_ATTEMPTS = 3 * ORDERS


def topological(waits: Waits, priority: Callable[[int], float] = float) -> list[int]:
    """Positions so that each comes behind what it waits for, lowest priority first among the ready.

    Shorter than `waits` exactly if there is a cycle.
    """
    missing = [len(set(each)) for each in waits]
    followers: list[list[int]] = [[] for _ in waits]
    for index, each in enumerate(waits):
        for before in set(each):
            followers[before].append(index)
    ready = [(priority(index), index) for index, number in enumerate(missing) if not number]
    heapq.heapify(ready)
    order = []
    while ready:
        _, index = heapq.heappop(ready)
        order.append(index)
        for follower in followers[index]:
            missing[follower] -= 1
            if not missing[follower]:
                heapq.heappush(ready, (priority(follower), follower))
    return order


def draw_orders(waits: Waits, serial: Sequence[Hashable | None]) -> list[list[int]]:
    """Up to `ORDERS` different legal orders; equal `serial` keys keep their places in each.

    `waits` must be acyclic and name earlier positions only.  There is one order for a chain.
    """
    waits = _with_serial(waits, serial)
    newest = topological(waits, lambda index: -index)
    latest = _as_late_as_possible(waits)
    orders = [newest] if newest == latest else [newest, latest]
    if len(orders) == 1 and _is_chain(waits, newest):
        return orders
    for _ in range(_ATTEMPTS):
        draws = [adversary.random() for _ in waits]
        order = topological(waits, draws.__getitem__)
        if order not in orders:
            orders.append(order)
        if len(orders) == ORDERS:
            break
    adversary.shuffle(orders)
    return orders


def _with_serial(waits: Waits, serial: Sequence[Hashable | None]) -> Waits:
    latest: dict[Hashable, int] = {}
    result = []
    for index, (each, key) in enumerate(zip(waits, serial, strict=True)):
        before = tuple(each)
        if key is not None:
            if key in latest:
                before += (latest[key],)
            latest[key] = index
        result.append(before)
    return result


def _as_late_as_possible(waits: Waits) -> list[int]:
    """Each node only when nothing else is left: the reversed graph in order, backwards."""
    reversed_waits: list[list[int]] = [[] for _ in waits]
    for index, each in enumerate(waits):
        for before in each:
            reversed_waits[before].append(index)
    return topological(reversed_waits)[::-1]


def _is_chain(waits: Waits, order: Sequence[int]) -> bool:
    return all(before in waits[after] for before, after in pairwise(order))
