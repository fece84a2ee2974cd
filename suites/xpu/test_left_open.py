"""What the documents of this class leave open: recorded, never judged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.markers import requirement
from suites.support.outcomes import caught, in_words
from suites.support.programs import Affine
from suites.support.streams import stream_kept


@requirement("xpu.mode-argument")
@pytest.mark.parametrize("mode", ["global", "thread_local"])
def test_mode_argument(impl: Adapter, mode: str, observe: Callable[[str, Any], None]) -> None:
    """Records what the context manager makes of a capture error mode."""
    program, graph = Affine(impl), impl.new_graph()

    def block() -> None:
        with impl.capture(graph, mode=mode):
            program.body()

    with stream_kept(impl):
        observe("outcome", in_words(caught(block)))


@requirement("xpu.default-stream")
def test_default_stream(impl: Adapter, observe: Callable[[str, Any], None]) -> None:
    """Records whether a capture can begin on the default stream."""
    program, graph = Affine(impl), impl.new_graph()
    with impl.stream(impl.default_stream()):
        error = caught(graph.capture_begin)
        if error is None:
            program.body()
            error = caught(graph.capture_end)
        if impl.is_current_stream_capturing():
            impl.abort_capture(graph)
    observe("outcome", in_words(error))
