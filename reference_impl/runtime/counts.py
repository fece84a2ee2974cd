"""How much is alive, for tests that look for leaks."""

from __future__ import annotations

from reference_impl.runtime import captures
from reference_impl.runtime.errors import LOCK
from reference_impl.runtime.executables import executables
from reference_impl.runtime.memory import allocations
from reference_impl.runtime.streams import events, streams
from reference_impl.runtime.templates import templates


def live_counts() -> dict[str, int]:
    """Live objects by kind: streams, events, graphs, execs, captures and allocations.

    `streams` are created ones; `graphs` include those that captures record into, not the copies inside child graph
    nodes; `captures` include invalidated ones that were not ended.
    """
    with LOCK:
        return {
            "streams": len(streams),
            "events": len(events),
            "graphs": sum(not each.embedded for each in templates),
            "execs": len(executables),
            "captures": len(captures.live),
            "allocations": len(allocations),
        }
