"""Text of unknown origin, made fit for a terminal, a log, a record and a page.

Names, messages and warnings come from implementations, and from records that anybody may have written.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

#: Characters kept of one text of a result.
TEXT_LIMIT = 4000

_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
#: The homes of others, whose machines a backend may have been built on.
_HOMES_OF_OTHERS = re.compile(r"(?<![\w.])(?:/(?:home|Users)/[^/\s'\":,;]+|[A-Za-z]:\\Users\\[^\\\s'\":,;]+)")


class _Shown(dict[int, int | str]):
    """What each character is shown as; filled as they occur."""

    def __missing__(self, code: int) -> int | str:
        shown: int | str = code
        if unicodedata.category(chr(code)) in _INVISIBLE or _is_no_character(code):
            shown = f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
        self[code] = shown
        return shown


def _is_no_character(code: int) -> bool:
    """Whether Unicode has set it apart for good: no XML holds it, and no page should."""
    return code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF


_SHOWN = _Shown({ord("\n"): "\n", ord("\t"): "    "})


def visible(value: object) -> str:
    r"""`value` as text in which nothing is hidden: control, direction, surrogate and no characters become ``\uXXXX``.

    Such characters could end a line of a table, move a terminal's cursor, turn the direction of a page or make it
    impossible to encode.  Only line breaks stay.

    >>> visible("\x1b[2J red")
    '\\u001b[2J red'
    """
    return str(value).replace("\r\n", "\n").translate(_SHOWN)


def visible_line(value: object) -> str:
    r"""`value` as `visible` shows it, on one line: a line break in it is shown, not made.

    >>> visible_line("vendor\nCONFORMS: torch.cuda")
    'vendor\\u000aCONFORMS: torch.cuda'
    """
    return visible(value).replace("\n", "\\u000a")


#: What begins a further line of a message.  No line that a backend wrote looks like one of the kit's own then.
_FURTHER = "\n    "


def further_lines(texts: Sequence[str]) -> str:
    r"""`texts` behind the colon of a message: one on its line, several on lines of their own.

    >>> "the adapter is wrong:" + further_lines(["no device"])
    'the adapter is wrong: no device'
    >>> "the adapter is wrong:" + further_lines(["no device", "no stream"])
    'the adapter is wrong:\n    no device\n    no stream'
    """
    lines = [visible_line(text) for text in texts]
    return f" {lines[0]}" if len(lines) == 1 else "".join(_FURTHER + line for line in lines)


def visible_lines(value: object) -> str:
    r"""`value` as `visible_line` shows it, but for the lines of `further_lines`.

    >>> visible_lines("wrong:\n    no device\nCONFORMS: torch.cuda")
    'wrong:\n    no device\\u000aCONFORMS: torch.cuda'
    """
    return _FURTHER.join(visible_line(line) for line in str(value).split(_FURTHER))


def brief(text: str, limit: int = TEXT_LIMIT) -> str:
    """`text` as `visible` shows it, and no more than `limit` characters of that; what is cut says how long it was.

    >>> brief("x" * 5_000_000, 40)
    'xxxxxxxxxxxx… (5000000 characters in all)'
    """
    shown = visible(text[:limit])
    if max(len(text), len(shown)) <= limit:
        return shown
    note = f"… ({len(text)} characters in all)"
    return shown[: max(limit - len(note), 0)] + note


def each_text(value: Any, change: Callable[[str], str]) -> Any:
    """`value`, made of JSON's types and tuples, with each text in it as `change` gives it."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {each_text(name, change): each_text(entry, change) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(each_text(entry, change) for entry in value)
    return value


def capital(text: str) -> str:
    """`text` as a sentence begins."""
    return text[:1].upper() + text[1:]


def said(error: object) -> str:
    """What `error` says of itself; it may be of a class that cannot."""
    try:
        return str(error)
    except Exception as trouble:  # its own code
        return f"(a {type(error).__name__} whose message cannot be had: it raised {type(trouble).__name__})"


def without_folders(text: str) -> str:
    """`text` with paths relative to the working folder, and ``~`` for home folders: a record is published."""
    # Nearly no text names one, and the patterns take long for a long text.
    for folder in _working_folders():
        if folder in text:
            text = _before_a_path(folder).sub("", text)
    for home in _HOMES:
        if home in text:
            text = _whole(home).sub("~", text)
    return _HOMES_OF_OTHERS.sub("~", text)


def published(text: str, limit: int = TEXT_LIMIT) -> str:
    """`text` as a record may hold it: `brief`, and `without_folders`."""
    return brief(without_folders(text), limit)


def _working_folders() -> list[str]:
    try:
        folder = Path.cwd()
    except OSError:  # it may be deleted meanwhile
        return []
    return _nameable([os.environ.get("PWD", ""), str(folder)])


def _homes() -> list[str]:
    try:
        home = Path.home()
    except RuntimeError:  # neither the environment nor the system knows one
        return []
    return _nameable([str(home), str(home.resolve())])


def _nameable(folders: Iterable[str]) -> list[str]:
    """Those that a path can be told to lie in, the deepest first."""
    paths = {Path(folder) for folder in folders if folder}
    return sorted({str(path) for path in paths if path.is_absolute() and path != path.parent}, key=len, reverse=True)


def _before_a_path(folder: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w./~-]){re.escape(folder)}[/\\]+(?=[\w.])")


def _whole(folder: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.~-]){re.escape(folder)}(?![\w.-])")


#: Once: a test may change the environment.
_HOMES = _homes()
