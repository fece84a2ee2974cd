"""A graph's work is the device's: what the program has set on the host stays set."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal
from conformance.markers import requirement
from suites.support.captures import BOTH_WAYS, capture_between, capture_into, captured, replay
from suites.support.host import changed, host_settings, unusual, usual

SETTINGS = pytest.mark.parametrize("settings", [usual, unusual])

Settings = Callable[[], AbstractContextManager[None]]


@requirement("replay.host-settings-kept")
@SETTINGS
def test_a_replay_changes_no_setting(impl: Adapter, settings: Settings) -> None:
    """The first replay, which may have more to prepare, and later ones."""
    x = impl.full(37, 0.0)
    graph, _ = captured(impl, lambda: x.add_(1.0))
    with settings():
        before = host_settings()
        for number in range(1, 4):
            replay(impl, graph)
            names = changed(before)
            expect(
                not names,
                "a replay leaves the host's settings as they were",
                f"replay {number} changed {', '.join(names)}, with {settings.__name__} settings",
            )


@requirement("capture.host-settings-kept")
@SETTINGS
@BOTH_WAYS
def test_a_capture_changes_no_setting(impl: Adapter, way: str, settings: Settings) -> None:
    """Nor does a reset, nor the capture after it."""
    x = impl.full(37, 0.0)
    graph, rest = impl.graph_for(None)
    capture = capture_into if way == "context" else capture_between
    with settings():
        before = host_settings()
        for number in (1, 2):
            capture(impl, graph, lambda: x.add_(1.0), **rest)
            names = changed(before)
            expect(
                not names,
                "a capture leaves the host's settings as they were",
                f"capture {number} changed {', '.join(names)}, with {settings.__name__} settings",
            )
            replay(impl, graph)
            graph.reset()
            names = changed(before)
            expect(
                not names,
                "reset leaves the host's settings as they were",
                f"reset {number} changed {', '.join(names)}, with {settings.__name__} settings",
            )


@requirement("replay.performs-work")
def test_work_under_unusual_settings(impl: Adapter) -> None:
    """What is captured or replayed under settings that few programs have is the same work, there and elsewhere."""
    x = impl.full(37, 0.0)
    graph, _ = captured(impl, lambda: x.add_(1.0))
    with unusual():
        other, _ = captured(impl, lambda: x.add_(10.0))
        replay(impl, graph, 2)
        replay(impl, other)
        expect_equal(impl, x, 12.0, "replays under unusual settings of the host perform the captured work")
    replay(impl, graph)
    replay(impl, other)
    expect_equal(impl, x, 23.0, "what was captured under unusual settings of the host is replayed under usual ones")
