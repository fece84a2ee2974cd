"""Implementations that installed packages add, by their entry points of the group `GROUP`.

An entry point's name is what ``--impl`` takes; its value names an adapter, a function that returns one, or a graph
class, as ``package.module:attribute`` does.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points

from conformance.adapters.known import KNOWN

GROUP = "graph_conformance.implementations"


def installed() -> Mapping[str, EntryPoint]:
    """The entry points by name.  Nobody takes one of the kit's own names, or one that looks like a place."""
    return {
        entry.name: entry for entry in entry_points(group=GROUP) if entry.name not in KNOWN and ":" not in entry.name
    }


def package_of(entry: EntryPoint) -> str:
    """The distribution that an entry point belongs to, with its version."""
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else "an unknown package"
