"""What can cross between processes: a backend's text may be no UTF-8, and its values of any class."""

from __future__ import annotations

from typing import Any

from conformance.text import said, visible


def sendable(value: Any) -> Any:
    """`value` with plain values only, and with text that can be encoded; what has no plain form crosses as words."""
    if value is None or type(value) in (bool, int, float, bytes):
        return value
    if isinstance(value, str):
        return _encodable(str.__str__(value))
    if isinstance(value, dict):
        return {sendable(key): sendable(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        entries = [sendable(entry) for entry in value]
        return tuple(entries) if isinstance(value, tuple) else entries
    return _encodable(said(value))


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return visible(text)
    return text
