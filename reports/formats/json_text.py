"""JSON that every reader can take: ASCII, with numbers that are numbers and characters that are whole."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, TextIO

#: Half a character: Python holds it, most readers of JSON do not.
_HALF = re.compile("[\ud800-\udfff]")
#: How it looks when it is written; whole characters beyond the first 65,536 look alike.
_MAYBE_HALF = re.compile(r"\\ud[89a-f]")
#: Made once: ``json.dumps`` would make one for each test.
_ENCODER = json.JSONEncoder(allow_nan=False)


def json_text(value: Any) -> str:
    r"""`value` as JSON on one line.

    Half a character becomes its escape as text, and a number that is none becomes its name, since JSON has neither.

    >>> json_text({"text": "\u202e\ud800", "number": float("nan")})
    '{"text": "\\u202e\\\\ud800", "number": "nan"}'
    """
    try:
        text = _ENCODER.encode(value)
    except ValueError:
        return json.dumps(_plain(value))
    return json.dumps(_plain(value)) if "\\ud" in text and _MAYBE_HALF.search(text) else text


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return _HALF.sub(lambda half: f"\\u{ord(half[0]):04x}", value)
    if isinstance(value, Mapping):
        return _plain_object(value)
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _plain_object(value: Mapping[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, entry in value.items():
        name = stem = _plain(key)
        number = 1
        while name in values:
            number += 1
            name = f"{stem} ({number})"
        values[name] = _plain(entry)
    return values


class JsonList:
    """An object of JSON whose last value is a list, written an entry a line while these come.

    Args:
        stream: to write to.
        before: the values in front of the list, without the brace that ends them.
        after: what ends the object, behind the list.
    """

    def __init__(self, stream: TextIO, before: str, after: str = "}") -> None:
        self._stream = stream
        self._after = after
        self._between = "\n"
        stream.write(before)

    @classmethod
    def named(cls, stream: TextIO, head: Mapping[str, Any], name: str) -> JsonList:
        """An object of the values of `head`, and of the list `name`."""
        return cls(stream, f"{json_text(head)[:-1]}, {json_text(name)}: [")

    def add(self, entry: Any) -> None:
        self._stream.write(self._between + json_text(entry))
        self._between = ",\n"

    def end(self) -> None:
        self._stream.write(f"\n]{self._after}\n")
