"""Splitting the suites among machines, by a hash that is the same everywhere and in every version of Python."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from conformance.errors import UsageError


@dataclass(frozen=True)
class Shard:
    """One of `count` parts, counted from 1."""

    index: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """The shard that ``I/N`` names.

        Raises:
            UsageError: it names none.
        """
        match = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", text)
        if match is None or int(match[1]) > int(match[2]):
            raise UsageError(f"--shard={text}: write I/N with I from 1 to N, such as 2/4")
        return cls(int(match[1]), int(match[2]))

    def holds(self, test: str) -> bool:
        """Whether the test that records call `test` belongs to this part."""
        return home_of(test, self.count) == self.index

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"


def home_of(test: str, count: int) -> int:
    """The part, of `count`, that the test belongs to.

    A test keeps its part when others are added or taken away.
    """
    # A record may name a test by what is no UTF-8.
    name = test.encode(errors="surrogatepass")
    return int.from_bytes(hashlib.sha256(name).digest()[:8], "big") % count + 1
