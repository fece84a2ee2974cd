"""How much is alive, for tests that look for leaks."""

from . import captures
from .errors import LOCK
from .executables import executables
from .memory import allocations
from .streams import events, streams
from .templates import templates


def live_counts() -> dict[str, int]:
    """Live objects by kind: streams, events, graphs, execs, captures and allocations.

    ``streams`` are created ones; ``graphs`` include those that captures record into, not the copies
    inside child graph nodes; ``captures`` include invalidated ones that were not ended.
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
