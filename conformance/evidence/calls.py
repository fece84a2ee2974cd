"""The last calls of a test, in memory, and in a file that outlives the process.

They are in a ring of slots.  With a file, a call costs one copy of a few bytes, and the kernel still has the file when
the process has ended, whatever ended it.
"""

from __future__ import annotations

import itertools
import mmap
import re
from pathlib import Path

#: How many calls are kept, and characters of each with what came of it.
SLOTS = 50
TEXT_LIMIT = 120
#: Characters of what came of a call.
_OUTCOME_LIMIT = 70
#: Digits of a call's number.
_NUMBER = 12
_SLOT = _NUMBER + TEXT_LIMIT + 1
#: What stands at a slot's end until its call has come back.
_OPEN, _DONE = b"?", b"."
_NO_RETURN = " (did not return)"

#: The beginning of a character that has no place any more.
_BROKEN = re.compile(rb"\\(x[0-9a-f]?|u[0-9a-f]{0,3}|U[0-9a-f]{0,7})?$")
#: A call's number, what it was, and what came of it; ``None`` until it has come back.
_Entry = tuple[int, str, str | None]
_NONE: _Entry = (0, "", "")


class CallRing:
    """Where calls are written to.

    Args:
        path: of a file, which is created; without one, the calls end with the process.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._file: mmap.mmap | None = None
        if path is not None:
            path.write_bytes(bytes(SLOTS * _SLOT))
            with path.open("r+b") as file:
                self._file = mmap.mmap(file.fileno(), SLOTS * _SLOT)
        self._numbers = itertools.count(1)
        self._slots: list[_Entry] = [_NONE] * SLOTS

    def clear(self) -> None:
        """Forget all calls."""
        self._slots = [_NONE] * SLOTS
        if self._file is not None:
            self._file[:] = bytes(SLOTS * _SLOT)

    def begin(self, text: str) -> int:
        """Note a call; the number that `end` takes."""
        number = next(self._numbers)
        self._slots[number % SLOTS] = entry = (number, text, None)
        if self._file is not None:
            self._write(self._file, entry)
        return number

    def end(self, number: int, outcome: str = "") -> None:
        """Note what came of a call, unless later ones have taken its slot."""
        own, text, _ = self._slots[number % SLOTS]
        if own != number:
            return
        self._slots[number % SLOTS] = entry = (number, text, outcome)
        if self._file is None:
            return
        if outcome:
            self._write(self._file, entry)
        else:
            self._file[number % SLOTS * _SLOT + _SLOT - 1] = _DONE[0]

    def calls(self) -> list[str]:
        """What `read_calls` makes of the file, or would make of one."""
        return read_calls(b"".join(_content(entry) for entry in self._slots if entry[0]))

    def _write(self, file: mmap.mmap, entry: _Entry) -> None:
        start = entry[0] % SLOTS * _SLOT
        file[start : start + _SLOT] = _content(entry)


def _content(entry: _Entry) -> bytes:
    """What stands in a slot."""
    number, text, outcome = entry
    end = _cut(outcome, _OUTCOME_LIMIT) if outcome else b""
    line = _cut(text, TEXT_LIMIT - len(end)) + end
    return (b"%12d" % number + line).ljust(_SLOT - 1, b"\0") + (_OPEN if outcome is None else _DONE)


def _cut(text: str, limit: int) -> bytes:
    """`text` in at most `limit` bytes of ASCII."""
    if len(text) <= limit and text.isascii():
        return text.encode("ascii")
    line = text[: limit + 1].replace("…", "...").encode("ascii", "backslashreplace")
    return line if len(line) <= limit else _BROKEN.sub(b"", line[: limit - 3]) + b"..."


def read_calls(content: bytes) -> list[str]:
    """The calls in a ring's file, oldest first; those that did not return say so."""
    calls = []
    for start in range(0, len(content) - _SLOT + 1, _SLOT):
        slot = content[start : start + _SLOT]
        number = slot[:_NUMBER].strip()
        if number.isdigit():
            text = slot[_NUMBER:-1].rstrip(b"\0").decode("ascii", "replace")
            calls.append((int(number), text + (_NO_RETURN if slot[-1:] == _OPEN else "")))
    return [text for _, text in sorted(calls)]
