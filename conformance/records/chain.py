"""Chains the lines of a record: each ends with a digest over itself and the digest of the line before.

A line that was changed, added, left out or moved breaks the chain there.  There is no secret in it: who writes every
line behind an edit again makes a whole chain again.
"""

from __future__ import annotations

import hashlib
import re

#: What stands before the digest that ends a line.
_KEY = ', "chain": "'
_END = re.compile(re.escape(_KEY.encode()) + rb'([0-9a-f]{64})"}\s*')
#: Bytes from the key to the end of the line, without its newline.
_LENGTH = len(_KEY) + 64 + len('"}')


def chained(previous: str, text: str) -> tuple[str, str]:
    """The line for an object, and its digest.

    Args:
        previous: the digest of the line before; empty for the first.
        text: the object as JSON.

    >>> line, digest = chained("", '{"kind": "header"}')
    >>> line == f'{{"kind": "header", "chain": "{digest}"}}'
    True
    """
    digest = hashlib.sha256(f"{previous}{text}".encode()).hexdigest()
    return f'{text[:-1]}{_KEY}{digest}"}}', digest


def unchained(line: str) -> str:
    """The object on a line that is whole, without its digest."""
    return f"{line.rstrip()[:-_LENGTH]}}}"


class Chain:
    """Follows the chain of a record.

    Attributes:
        digest: of the last line.
        broken: why the lines are not those that were written, as a sentence without its stop, or ``None``.
    """

    def __init__(self) -> None:
        self.digest = ""
        self.broken: str | None = None

    def follow(self, number: int, line: bytes) -> None:
        """Take in the next line, the one with that `number` in its file."""
        place = max(len(line.rstrip()) - _LENGTH, 0)
        match = _END.fullmatch(line, place)
        if match is None:
            self._break(f"line {number} carries no digest: an earlier kit wrote it, or it was edited")
            return
        previous, self.digest = self.digest, match[1].decode()
        if hashlib.sha256(previous.encode() + line[:place] + b"}").hexdigest() != self.digest:
            self._break(f"line {number}, or one before it, is not the one that was written: its digest is another")

    def _break(self, reason: str) -> None:
        self.broken = self.broken or reason
