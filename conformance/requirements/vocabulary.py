"""The words that requirement files, adapters and records share.  Imports next to nothing: listing costs nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, get_args

from conformance.requirements.revisions import Revision

Dialect = Literal["cuda", "xpu", "accelerator"]
DIALECTS: tuple[Dialect, ...] = get_args(Dialect)

Level = Literal["must", "should", "may"]
LEVELS: tuple[Level, ...] = get_args(Level)

#: The release that first documents graphs.
FIRST = "1.10"

#: An implementation's name becomes a part of pytest's node ids, which keep these characters as they are.
_NAME = re.compile(r"(?![ ])[ -Z\\^-~]{1,200}(?<![ ])")


def is_name(text: str) -> bool:
    """Whether an implementation may be called `text`: printable ASCII, no brackets, no space at an end, and short."""
    return _NAME.fullmatch(text) is not None


@dataclass(frozen=True)
class Capability:
    """An optional feature.

    Attributes:
        name: by which adapters and requirement files call it.
        meaning: what an implementation that has it has.
        since: the first release whose documents have any of it.
        complete: the first release whose documents have all of it, where that is a later one.
        dialects: the shapes of the class that it is documented for.
    """

    name: str
    meaning: str
    since: str = FIRST
    complete: str | None = None
    dialects: tuple[Dialect, ...] = DIALECTS

    def begun_in(self, revision: str, dialect: Dialect) -> bool:
        """Whether the documents of a release have any of it."""
        return dialect in self.dialects and Revision(self.since) <= Revision(revision)

    def complete_in(self, revision: str, dialect: Dialect) -> bool:
        """Whether the documents of a release have all of it."""
        return self.begun_in(revision, dialect) and Revision(self.complete or self.since) <= Revision(revision)


def _by_name(*capabilities: Capability) -> Mapping[str, Capability]:
    return MappingProxyType({entry.name: entry for entry in capabilities})


#: Optional features.  An adapter declares each ``True``, ``False`` or leaves it out (unstated: it is then tested).
CAPABILITIES: Mapping[str, Capability] = _by_name(
    Capability("keep_graph", "the constructor takes keep_graph, and instantiate() exists", "2.8"),
    Capability("pools", "graphs take and hand out memory pool tokens"),
    Capability(
        "capture_modes",
        "capture takes an error mode: global, thread_local, relaxed",
        "2.1",
        dialects=("cuda", "accelerator"),
    ),
    Capability("liveness", "capture_begin takes check_input_liveness", "2.13", dialects=("cuda",)),
    Capability("hooks", "capture-end and post-instantiate hooks", "2.14", dialects=("cuda",)),
    Capability("capture_phases", "capture_end_pre() and capture_end_post()", "2.14", dialects=("cuda",)),
    Capability(
        "raw_handles",
        "the underlying template and executable handles can be read",
        "2.8",
        complete="2.9",  # raw_cuda_graph came a release before raw_cuda_graph_exec
        dialects=("cuda", "xpu"),
    ),
    Capability(
        "template_editing",
        "the template behind the raw handle can be edited through a runtime module",
        "2.8",
        dialects=("cuda",),
    ),
    Capability("debug_dump", "enable_debug_mode() and debug_dump()", "2.0"),
    Capability("graph_data", "get_graph_data()", "2.13", dialects=("cuda",)),
    Capability("rng", "random operators can be captured"),
    Capability("graphed_callables", "make_graphed_callables()", dialects=("cuda", "xpu")),
    Capability("fork_join", "work forked to other streams through events is captured"),
    Capability("threads", "captures may be begun in, and disturbed from, more than one thread"),
    Capability("memory_stats", "allocated and reserved bytes of the device can be read"),
)
