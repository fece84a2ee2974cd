"""A capture that records no work."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from conformance.adapter import Adapter
from conformance.checks import expect_equal, expect_no_raise
from conformance.markers import requirement
from suites.support.captures import BOTH_WAYS, capture_by


def _messages(call: Callable[[], Any]) -> set[str]:
    with warnings.catch_warnings(record=True) as entries:
        warnings.simplefilter("always")
        expect_no_raise("a capture that records no work is no error", call)
    return {str(entry.message) for entry in entries}


@BOTH_WAYS
@requirement("capture.empty-warns")
def test_warning_of_an_empty_capture(impl: Adapter, way: str, observe: Callable[[str, Any], None]) -> None:
    """Records the warnings of a capture without work that one with work does not give."""
    x = impl.full(37, 1.0)
    empty = _messages(lambda: capture_by(impl, way, impl.new_graph(), lambda: None))
    nonempty = _messages(lambda: capture_by(impl, way, impl.new_graph(), lambda: x.add_(1.0)))
    observe("warnings of an empty capture", sorted(empty - nonempty))


@BOTH_WAYS
@requirement("capture.empty-replays")
def test_empty_graph_replays_as_nothing(impl: Adapter, way: str) -> None:
    """Replays of an empty graph succeed and leave memory and later work alone."""
    x = impl.full(37, 3.0)
    graph = impl.new_graph()
    _messages(lambda: capture_by(impl, way, graph, lambda: None))
    for _ in range(3):
        expect_no_raise("a graph without work can be replayed", graph.replay)
    expect_equal(impl, x, 3.0, "a replay of a graph without work changes nothing")
    x.add_(1.0)
    expect_equal(impl, x, 4.0, "work after the replay of an empty graph runs as usual")


@BOTH_WAYS
@requirement("capture.empty-replays")
def test_host_only_capture_replays_as_nothing(impl: Adapter, way: str) -> None:
    """A capture of views and host arithmetic alone holds no device work."""
    x = impl.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    graph = impl.new_graph()
    views: list[Any] = []
    _messages(lambda: capture_by(impl, way, graph, lambda: views.append(x.t()[1:])))
    for _ in range(2):
        expect_no_raise("a graph without device work can be replayed", graph.replay)
    expect_equal(impl, views[0], [[2.0, 5.0], [3.0, 6.0]], "a view made inside a capture shows its base")
