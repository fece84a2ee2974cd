"""Replays of different graphs in two threads at the same time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from conformance.adapter import Adapter
from conformance.checks import expect_equal, expect_no_raise
from conformance.markers import requirement
from suites.support.captures import captured

TIMES = 30


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
            both.wait()
            for _ in range(TIMES):
                graphs[place].replay()

    with ThreadPoolExecutor(2) as threads:
        work = [threads.submit(replays, place) for place in range(2)]
    for one in work:
        expect_no_raise("two threads can replay different graphs at the same time", one.result)
    impl.synchronize()
    for place, total in enumerate(totals):
        expect_equal(impl, total, TIMES * (place + 1.0), "each replay does the work of its own graph")
