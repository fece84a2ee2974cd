"""Where in a program something happened, noted at little cost and written out when somebody asks."""

from __future__ import annotations

import linecache
import sys
from types import CodeType, FrameType
from typing import NamedTuple

#: As many calls as are noted, from the innermost one out.
_DEPTH = 30
_INDENT = "\n      "


class Place(NamedTuple):
    """The calls that were underway, the innermost one first: what runs in each, and the line in its file.

    Attributes:
        calls: holds no frame, so that nothing of the program stays alive.
    """

    calls: tuple[tuple[CodeType, int | None], ...]

    @classmethod
    def of_caller(cls, depth: int) -> Place:
        """The place from which the function that asks was called.

        Args:
            depth: how many calls further out the program begins.
        """
        frame: FrameType | None = sys._getframe(depth + 1)
        calls: list[tuple[CodeType, int | None]] = []
        while frame is not None and len(calls) < _DEPTH:
            calls.append((frame.f_code, frame.f_lineno))
            frame = frame.f_back
        return cls(tuple(calls))

    def __str__(self) -> str:
        """A line for each call, the innermost one last, as in a traceback."""
        lines = []
        for code, number in reversed(self.calls):
            lines.append(f"{code.co_filename}:{number}, in {code.co_name}")
            text = linecache.getline(code.co_filename, number or 0).strip()
            if text:
                lines.append(f"  {text}")
        return _INDENT + _INDENT.join(lines)
