"""The words that requirement files, adapters and records share.  Imports nothing, so that listing costs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

Dialect = Literal["cuda", "xpu", "accelerator"]
DIALECTS: tuple[Dialect, ...] = get_args(Dialect)

Level = Literal["must", "should", "may"]
LEVELS: tuple[Level, ...] = get_args(Level)

#: Optional features.  An adapter declares each ``True``, ``False`` or leaves it out (unstated: it is then tested).
CAPABILITIES: Mapping[str, str] = {
    "keep_graph": "the constructor takes keep_graph, and instantiate() exists",
    "pools": "graphs take and hand out memory pool tokens",
    "capture_modes": "capture takes an error mode: global, thread_local, relaxed",
    "liveness": "capture_begin takes check_input_liveness",
    "hooks": "capture-end and post-instantiate hooks",
    "capture_phases": "capture_end_pre() and capture_end_post()",
    "raw_handles": "the underlying template and executable handles can be read",
    "template_editing": "the template behind the raw handle can be edited through a runtime module",
    "debug_dump": "enable_debug_mode() and debug_dump()",
    "graph_data": "get_graph_data()",
    "rng": "random operators can be captured",
    "graphed_callables": "make_graphed_callables()",
    "fork_join": "work forked to other streams through events is captured",
    "threads": "captures may be begun in, and disturbed from, more than one thread",
    "memory_stats": "allocated and reserved bytes of the device can be read",
}
