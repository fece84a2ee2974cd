"""What captures and replays leave on the host: nothing that grows with their number."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from conformance.adapter import Adapter
from conformance.checks import expect
from conformance.errors import Unsupported
from conformance.markers import requirement
from suites.support.captures import capture_between, captured, replay
from suites.support.memory import settle
from suites.support.programs import Counter

#: Rounds that are counted.  What is kept once, or up to a limit, does not grow in each of them; the first is left out,
#: since in it may go what the program held before.
ROUNDS = 4
#: Where the system lists the files that this process has open.
_OPEN_FILES = Path("/proc/self/fd")

_OBJECTS = "Python objects"


def _python_objects() -> int:
    """Blocks of memory that Python's objects take."""
    gc.collect()
    return sys.getallocatedblocks()


def _open_files() -> int:
    return len(os.listdir(_OPEN_FILES))  # noqa: PTH208  # as quick as can be


def _counts() -> Mapping[str, Callable[[], int]]:
    """What can be counted here, by its name in words."""
    counts: dict[str, Callable[[], int]] = {"threads": threading.active_count}
    if hasattr(sys, "getallocatedblocks"):
        counts[_OBJECTS] = _python_objects
    if _OPEN_FILES.is_dir():
        counts["open files"] = _open_files
    return counts


def _expect_no_growth(impl: Adapter, once: Callable[[], None], times: int, promise: str, *, objects: int) -> None:
    """Reject if each of several rounds of `times` calls leaves as many threads or files more, or `objects` times that.

    Args:
        impl: makes what `once` uses.
        once: leaves nothing.
        times: calls in a round.
        promise: that nothing grows.
        objects: Python objects that a call may leave, to fill what is kept up to a limit.
    """
    counts = _counts()
    settle(impl)
    before = {name: count() for name, count in counts.items()}
    growth: dict[str, list[int]] = {name: [] for name in counts}
    for _ in range(ROUNDS):
        for _ in range(times):
            once()
        settle(impl)  # an allocator may keep what nobody uses until it is asked
        for name, count in counts.items():
            now = count()
            growth[name].append(now - before[name])
            before[name] = now
    for name, added in growth.items():
        limit = times * objects if name == _OBJECTS else times
        expect(min(added[1:]) < limit, promise, f"{name}: {added} more after rounds of {times}")


@requirement("replay.no-growth-on-host")
def test_replays(impl: Adapter) -> None:
    """Neither objects of Python nor threads nor open files add up over many replays."""
    counter = Counter(impl)
    graph, _ = captured(impl, counter.body)
    replay(impl, graph, 300)  # what notes the last calls is full
    _expect_no_growth(impl, graph.replay, 150, "a replay leaves nothing behind on the host", objects=1)


@requirement("reset.no-growth-on-host")
def test_captures(impl: Adapter) -> None:
    """Nor over graphs that are captured, replayed, reset, asked for a replay once more, and dropped."""
    if not impl.has_reset:
        raise Unsupported("the class has no reset(), which its page does not list")
    counter = Counter(impl)

    def once() -> None:
        graph = impl.new_graph()
        capture_between(impl, graph, counter.body)
        graph.replay()
        graph.reset()
        with contextlib.suppress(Exception):
            graph.replay()

    for _ in range(40):
        once()
    promise = "a graph that was captured, replayed and reset leaves nothing behind on the host"
    _expect_no_growth(impl, once, 15, promise, objects=5)  # a graph is at least that many
