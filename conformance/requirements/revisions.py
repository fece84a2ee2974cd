"""PyTorch releases as the documents name them: ``"2.8"`` comes before ``"2.11"``."""

from __future__ import annotations

import re
from functools import total_ordering

#: The newest release whose documents the requirements quote.
NEWEST = "2.15"

_SHAPE = re.compile(r"(\d+)\.(\d+)")


@total_ordering
class Revision:
    """One release, compared by number.

    Raises:
        ValueError: `text` is not ``MAJOR.MINOR``.
    """

    __slots__ = ("major", "minor")

    def __init__(self, text: str) -> None:
        match = _SHAPE.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is not a revision such as '2.8' or '2.14'")
        self.major, self.minor = int(match[1]), int(match[2])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Revision) and (self.major, self.minor) == (other.major, other.minor)

    def __lt__(self, other: Revision) -> bool:
        return (self.major, self.minor) < (other.major, other.minor)

    def __hash__(self) -> int:
        return hash((self.major, self.minor))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"

    def __repr__(self) -> str:
        return f"Revision({str(self)!r})"


def documented(text: str) -> str:
    """The revision that `text` names, if the requirements know its documents.

    Raises:
        ValueError: it is none, or later than all that they quote.
    """
    revision = Revision(text)
    if revision > Revision(NEWEST):
        raise ValueError(f"the kit quotes no document that is later than {NEWEST}, so there is nothing to judge it by")
    return str(revision)


def of_version(version: str) -> str:
    """The revision whose documents a version such as ``"2.13.0+cpu"`` ships, or `NEWEST` for a later one.

    Raises:
        ValueError: `version` does not start with ``MAJOR.MINOR``.
    """
    match = _SHAPE.match(version)
    if match is None:
        raise ValueError(f"{version!r} does not start with MAJOR.MINOR")
    return str(min(Revision(match[0]), Revision(NEWEST)))
