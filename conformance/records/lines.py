"""Reads files of JSON that anyone may have written: within limits, and with a reason for what is refused."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from conformance.errors import RecordError

#: Bytes of a file that is read line by line.
FILE_LIMIT = 16 << 30
#: Bytes of a line, and of a file that is read whole.
LINE_LIMIT = 16 << 20
#: How deep lists and objects may lie in each other.
DEPTH_LIMIT = 32
#: Characters of one text.
TEXT_LIMIT = 1 << 20


class Line(NamedTuple):
    """One line of a file: its number, its text without its end, and the object that this is."""

    number: int
    text: bytes
    values: dict[str, Any]


class CutOff(ValueError):
    """What is no JSON may be the beginning of some."""


def read_content(path: Path, what: str) -> bytes:
    """The content of `path`, which holds `what`.

    Raises:
        RecordError: there is no such file, or it is too large or no file at all, such as a pipe that never ends.
    """
    with opened(path, what, LINE_LIMIT) as stream:
        return stream.read()


@contextmanager
def opened(path: Path, what: str, limit: int = FILE_LIMIT) -> Iterator[BinaryIO]:
    """Open `path`, which holds `what` in at most `limit` bytes, to be read.

    Raises:
        RecordError: as `read_content`, and whenever reading it fails.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise RecordError(f"the {what} {path} cannot be read: it is not a regular file")
        if status.st_size > limit:
            raise RecordError(f"the {what} {path} cannot be read: it is larger than {limit >> 20} MiB")
        stream = path.open("rb")
    except OSError as error:
        raise RecordError(f"the {what} {path} cannot be read: {error.strerror or error}") from None
    except ValueError as error:  # a name that no file can have
        raise RecordError(f"the {what} {str(path)!r} cannot be read: {error}") from None
    with stream:
        yield stream


def lines_of(path: Path, stream: BinaryIO, *, ended: bool = False) -> Iterator[Line]:
    """The objects in the lines of a record; empty lines are passed over, and so is a last one that was cut off.

    Args:
        path: of the record.
        stream: its content.
        ended: whether to pass over a last line without an end, even if nothing else of it is missing.

    Raises:
        RecordError: a line holds no object, or one beyond the limits.
    """
    for number, line in enumerate(texts_of(path, stream), 1):
        text = line.removesuffix(b"\n")
        if not text.strip() or (ended and text == line):
            continue
        try:
            yield Line(number, text, parse_object(text))
        except CutOff as error:
            # The writer ends each line before it begins the next, so only the last one can be cut off.
            if text == line and number > 1:
                return
            raise RecordError(f"{path} is no record: line {number} {error}") from None
        except ValueError as error:
            raise RecordError(f"{path} is no record: line {number} {error}") from None


def texts_of(path: Path, stream: BinaryIO) -> Iterator[bytes]:
    """The lines of a record, each cut where it is seen to be too long.

    Raises:
        RecordError: reading it fails.
    """
    try:
        while line := stream.readline(LINE_LIMIT + 2):
            yield line
    except OSError as error:
        raise RecordError(f"the record {path} cannot be read: {error.strerror or error}") from None


def parse_object(text: bytes, limit: int = LINE_LIMIT) -> dict[str, Any]:
    """The JSON object that `text` is.

    Raises:
        ValueError: why it is none, as the rest of a sentence; `CutOff` when more text could make one of it.
    """
    if len(text) > limit:
        raise ValueError(f"is longer than {limit >> 20} MiB")
    try:
        value = _DECODER.decode(text.decode("utf-8"))
    except _DuplicateKey as error:
        raise ValueError(f"has the key {_shown(error.key)} twice in one object") from None
    except ValueError:
        raise CutOff("is not JSON") from None
    except RecursionError:
        raise ValueError(f"is nested deeper than {DEPTH_LIMIT} levels") from None
    if not isinstance(value, dict):
        raise ValueError("is not a JSON object")  # noqa: TRY004 - a value of a file, no argument
    # Most lines have too few brackets to lie so deep, and are too short for such a text.
    if text.count(b"[") + text.count(b"{") >= DEPTH_LIMIT:
        _check_depth(value)
    if len(text) > TEXT_LIMIT:
        _check_texts(value)
    return value


class _DuplicateKey(Exception):
    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        seen: set[str] = set()
        raise _DuplicateKey(next(key for key, _ in pairs if key in seen or seen.add(key)))  # type: ignore[func-returns-value]
    return values


#: Made once: ``json.loads`` would make one for each line.
_DECODER = json.JSONDecoder(object_pairs_hook=_distinct)


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(DEPTH_LIMIT - 1):
        level = [each for outer in level for each in _within(outer) if isinstance(each, (dict, list))]
        if not level:
            return
    if any(level):
        raise ValueError(f"is nested deeper than {DEPTH_LIMIT} levels")


def _check_texts(value: Any) -> None:
    """Refuse texts that are too long, in what does not lie too deep."""
    if isinstance(value, str) and len(value) > TEXT_LIMIT:
        raise ValueError(f"has a text of more than {TEXT_LIMIT} characters")
    if isinstance(value, (dict, list)):
        for each in _within(value):
            _check_texts(each)
    if isinstance(value, dict):
        for key in value:
            _check_texts(key)


def _within(value: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:59] + "…")
