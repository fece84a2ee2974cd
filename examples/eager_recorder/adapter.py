"""What the kit is told about ``recorder.RecorderGraph``: ten lines, and one for each thing that it does not have."""

from __future__ import annotations

from typing import Any

import recorder

from conformance.adapter import Adapter

#: What a recorder on the host does not have.  Each is quoted in the report; whatever is left out is tested.
ABSENT = ("debug_dump", "fork_join", "graphed_callables", "memory_stats", "threads")


class RecorderAdapter(Adapter):
    """``RecorderGraph``, held to what the torch.cuda page of PyTorch 1.10 says."""

    name, revision, graph_class = "recorder", "1.10", recorder.RecorderGraph
    capabilities = dict.fromkeys(ABSENT, False)
    needs_side_stream = False  # there is one stream

    def is_current_stream_capturing(self) -> bool:
        return recorder.is_current_stream_capturing()

    def graph_pool_handle(self) -> Any:
        return recorder.graph_pool_handle()


adapter = RecorderAdapter()
