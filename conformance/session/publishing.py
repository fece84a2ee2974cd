"""A result as its record may hold it."""

from __future__ import annotations

from dataclasses import replace

from conformance.records.result import TestResult
from conformance.text import each_text, published, visible, without_folders

_WARNING_LIMIT = 400


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
        observations=each_text(result.observations, published),
        command=without_folders(visible(result.command)),
        ending=None if result.ending is None else each_text(result.ending, published),
        reproducer=None if result.reproducer is None else script(result.reproducer),
    )


def script(text: str) -> str:
    """A script's `text` likewise, whole."""
    return without_folders(visible(text))


def _text(text: str | None) -> str | None:
    return None if text is None else published(text)
