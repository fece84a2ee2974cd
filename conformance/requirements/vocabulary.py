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
        names: what the class, its device module and its adapter call what they have of it.
        arguments: what the constructor, capture_begin and the functions around them take of it.
    """

    name: str
    meaning: str
    since: str = FIRST
    complete: str | None = None
    dialects: tuple[Dialect, ...] = DIALECTS
    names: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()

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
    Capability(
        "keep_graph",
        "the constructor takes keep_graph, and instantiate() exists",
        "2.8",
        names=("instantiate",),
        arguments=("keep_graph",),
    ),
    Capability(
        "pools",
        "graphs take and hand out memory pool tokens",
        names=("pool", "pools", "graph_pool_handle", "MemPool", "new_mem_pool"),
        arguments=("pool",),
    ),
    Capability(
        "capture_modes",
        "capture takes an error mode: global, thread_local, relaxed",
        "2.1",
        dialects=("cuda", "accelerator"),
        arguments=("capture_error_mode",),
    ),
    Capability(
        "raw_allocation",
        "a call that the capture modes tell apart can be made: Adapter.unsafe_call",
        names=("unsafe_call",),
    ),
    Capability(
        "liveness",
        "capture_begin takes check_input_liveness",
        "2.13",
        dialects=("cuda",),
        arguments=("check_input_liveness",),
    ),
    Capability(
        "hooks",
        "capture-end and post-instantiate hooks",
        "2.14",
        dialects=("cuda",),
        names=(
            *("register_capture_start_hook", "register_capture_end_hook", "register_post_instantiate_hook"),
            *("register_replay_start_hook", "register_replay_end_hook", "register_destroy_callback", "retain_object"),
            *("export_dot", "export_graph_data"),
        ),
    ),
    Capability(
        "capture_phases",
        "capture_end_pre() and capture_end_post()",
        "2.14",
        dialects=("cuda",),
        names=("capture_end_pre", "capture_end_post"),
    ),
    Capability(
        "raw_handles",
        "the underlying template and executable handles can be read",
        "2.8",
        complete="2.9",  # raw_cuda_graph came a release before raw_cuda_graph_exec
        dialects=("cuda", "xpu"),
        names=("raw_cuda_graph", "raw_cuda_graph_exec", "raw_xpu_graph", "raw_xpu_graph_exec", "raw_graph", "raw_exec"),
    ),
    Capability(
        "template_editing",
        "the template behind the raw handle can be edited through a runtime module",
        "2.8",
        dialects=("cuda",),
    ),
    Capability("debug_dump", "enable_debug_mode() and debug_dump()", "2.0", names=("enable_debug_mode", "debug_dump")),
    Capability("graph_data", "get_graph_data()", "2.13", dialects=("cuda",), names=("get_graph_data",)),
    Capability("rng", "random operators can be captured", names=("manual_seed",)),
    Capability(
        "graphed_callables",
        "make_graphed_callables()",
        dialects=("cuda", "xpu"),
        names=("make_graphed_callables",),
    ),
    Capability("fork_join", "work forked to other streams through events is captured", names=("new_event",)),
    Capability("threads", "captures may be begun in, and disturbed from, more than one thread"),
    Capability(
        "memory_stats",
        "allocated and reserved bytes of the device can be read",
        names=("memory_allocated", "memory_reserved", "memory_snapshot"),
    ),
)


def capability_of(name: str) -> str | None:
    """The capability that a class, a device module or an adapter has `name` for, or ``None``."""
    return next((entry.name for entry in CAPABILITIES.values() if name in entry.names), None)


def capability_taking(argument: str) -> str | None:
    """The capability that `argument` is for, or ``None``."""
    return next((entry.name for entry in CAPABILITIES.values() if argument in entry.arguments), None)
