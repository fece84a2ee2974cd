"""Reading the pages that reports write."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

VOID = {"meta", "br", "input", "link", "img", "hr", "base"}


class Matrix:
    """The data of a matrix.

    Attributes:
        labels: of the records.
        rows: by the ids of the requirements, the verdicts on each, in capitals when they lead to a page.
        levels: likewise.
    """

    def __init__(self, data: Any) -> None:
        keys = [key for key, *_ in data["words"]]
        self.labels = [head["label"] for head in data["heads"]]
        self.levels = {row[0]: row[2] for row in data["rows"]}
        self.rows = {row[0]: [_verdict(letter, keys) for letter in row[7]] for row in data["rows"]}


def _verdict(letter: str, keys: list[str]) -> str:
    key = keys[ord(letter.lower()) - ord("a")]
    return key.upper() if letter.isupper() else key


class Page(HTMLParser):
    """A parsed page; every tag must be closed by its own end tag."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.raw = text
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.words: list[str] = []
        self.data: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] not in ("style", "script"):
            self.words.append(data)
        elif self._open and self.tags[-1] == ("script", {"type": "application/json", "class": "matrix-data"}):
            self.data.append(data)

    @property
    def text(self) -> str:
        """What a reader sees, spaces run together."""
        return " ".join(" ".join(self.words).split())

    @property
    def matrix(self) -> Matrix:
        """What the matrix holds for its script."""
        (data,) = self.data
        return Matrix(json.loads(data))

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def ids(self) -> list[str]:
        return [attributes["id"] for _, attributes in self.tags if "id" in attributes]


def in_both(pages: tuple[Page, str], *texts: str) -> None:
    """Both pages say so."""
    page, markdown = pages
    plain = " ".join(re.sub(r"[\\`*|]", "", markdown).split())
    for text in texts:
        assert text in page.text, text
        assert text in plain, text
