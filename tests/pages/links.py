"""The links and the headings of a Markdown page, as far as the pages of this repository use them."""

from __future__ import annotations

import functools
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\[[^\[\]]*\]\(([^()\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)


@dataclass(frozen=True)
class Link:
    """A relative link.

    Attributes:
        page: the page that it stands on.
        target: as written, such as ``record.md#verdicts``.
    """

    page: Path
    target: str

    @property
    def file(self) -> Path:
        """The file that it leads to: the page itself when it names only a heading."""
        path = self.target.partition("#")[0]
        return (self.page.parent / path).resolve() if path else self.page

    @property
    def anchor(self) -> str:
        """The heading that it leads to, or nothing."""
        return self.target.partition("#")[2]

    def trouble(self) -> str | None:
        """What is wrong with it."""
        if not self.file.exists():
            return f"{self.target}: no such file"
        if self.anchor and self.anchor not in anchors(self.file.read_text(encoding="utf-8")):
            return f"{self.target}: no such heading"
        return None


def links(page: Path) -> list[Link]:
    """The relative links of `page`; what stands in code is no link."""
    text = _CODE.sub("", _FENCE.sub("", page.read_text(encoding="utf-8")))
    return [Link(page, target) for target in _LINK.findall(text) if "://" not in target]


@functools.cache
def anchors(text: str) -> frozenset[str]:
    """What the headings of a page are called in links."""
    counts: Counter[str] = Counter()
    names = set()
    for heading in _HEADING.findall(_FENCE.sub("", text)):
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
        names.add(f"{slug}-{counts[slug]}" if counts[slug] else slug)
        counts[slug] += 1
    return frozenset(names)
