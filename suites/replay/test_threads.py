"""Replays of different graphs in two threads at the same time."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from conformance.adapter import Adapter
from conformance.checks import expect_equal, expect_no_raise
from conformance.markers import requirement
from suites.support.captures import captured

TIMES = 60


@contextlib.contextmanager
def _threads_that_alternate() -> Iterator[None]:
    """Let Python go from thread to thread as often as it can: otherwise one is done before the other begins."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@requirement("replay.threads")
def test_different_graphs_at_the_same_time(impl: Adapter) -> None:
    """Each of two threads replays a graph of its own on a stream of its own, and each graph did its own work."""
    totals = [impl.full(37, 0.0) for _ in range(2)]
    graphs = [captured(impl, partial(total.add_, place + 1.0))[0] for place, total in enumerate(totals)]
    streams = [impl.new_stream() for _ in graphs]
    impl.synchronize()
    both = threading.Barrier(2)

    def replays(place: int) -> None:
        with impl.stream(streams[place]):
            for _ in range(TIMES):
                both.wait()
                graphs[place].replay()

    with _threads_that_alternate(), ThreadPoolExecutor(2) as threads:
        work = [threads.submit(replays, place) for place in range(2)]
    for one in work:
        expect_no_raise("two threads can replay different graphs at the same time", one.result)
    impl.synchronize()
    for place, total in enumerate(totals):
        expect_equal(impl, total, TIMES * (place + 1.0), "each replay does the work of its own graph")
