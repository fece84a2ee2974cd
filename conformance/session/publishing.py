"""A result as its record may hold it, and as its reader takes it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from conformance.records.lines import TEXT_LIMIT
from conformance.records.result import TestResult
from conformance.text import each_text, published, visible, without_folders

_WARNING_LIMIT = 400
_CALL_LIMIT = 200
#: Characters of one observation as JSON, and of all of a test's; how deep lists and objects may lie in one.
_OBSERVATION_LIMIT = 1 << 16
_OBSERVATIONS_LIMIT = 1 << 20
_DEPTH_LIMIT = 16


def publishable(result: TestResult) -> TestResult:
    """`result` with nothing hidden in its texts, without the folders of people, and with an end to each text."""
    return replace(
        result,
        message=published(result.message),
        expected=_text(result.expected),
        seen=_text(result.seen),
        left_behind=_text(result.left_behind),
        frames=tuple(map(published, result.frames)),
        warnings=tuple(published(text, _WARNING_LIMIT) for text in result.warnings),
        observations=_observations(result.observations),
        command=published(result.command),
        calls=tuple(published(text, _CALL_LIMIT) for text in result.calls),
        graphs=each_text(result.graphs, lambda text: published(text, _CALL_LIMIT)),
        ending=None if result.ending is None else each_text(result.ending, published),
        reproducer=None if result.reproducer is None else script(result.reproducer),
        cause=None if result.cause is None else each_text(result.cause, published),
    )


def script(text: str) -> str | None:
    """A script's `text` likewise, whole, or ``None`` when no record can hold it: a part of a script shows nothing."""
    shown = without_folders(visible(text))
    return shown if len(shown) <= TEXT_LIMIT else None


def _text(text: str | None) -> str | None:
    return None if text is None else published(text)


def _observations(notes: Mapping[str, Any]) -> dict[str, Any]:
    """As many of `notes` as have room."""
    kept: dict[str, Any] = {}
    room = _OBSERVATIONS_LIMIT
    for number, (name, value) in enumerate(notes.items()):
        text = json.dumps(value)
        shown_name = published(name, _WARNING_LIMIT)
        if len(text) > _OBSERVATION_LIMIT or _is_deep(value):
            kept[shown_name] = published(text)
        else:
            # What was written and read has no two keys that JSON cannot tell apart, as 1 and "1".
            kept[shown_name] = each_text(json.loads(text), published)
        room -= min(len(text), _OBSERVATION_LIMIT) + len(shown_name)
        if room < 0:
            kept["…"] = f"{len(notes) - number - 1} more"
            break
    return kept


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(_DEPTH_LIMIT):
        holders = [each for each in level if isinstance(each, dict | list | tuple)]
        level = [inner for each in holders for inner in (each.values() if isinstance(each, dict) else each)]
        if not level:
            return False
    return True
