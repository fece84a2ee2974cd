"""Reading a site as a browser would that follows each link."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from datetime import date
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote, urlsplit

from conformance.records.record import Record
from reports import write
from tests.reports.pages import Page


class Site:
    """The pages of a report on some records."""

    def __init__(
        self, records: Sequence[Record], folder: Path, self_check: Path | None = None, day: date | None = None
    ) -> None:
        first, _ = write(records, folder, self_check, day=day)
        self.first = first.name
        self.files = {
            file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()
        }
        self.pages = {name: Page(text.decode()) for name, text in self.files.items() if name.endswith(".html")}

    def __getitem__(self, name: str) -> Page:
        return self.pages[name]

    def text(self, name: str) -> str:
        return self.pages[name].text

    def links(self, name: str) -> list[tuple[str, str]]:
        """What the page `name` leads to: pages, or other files, and places in them."""
        return [self._target(name, link["href"]) for link in self.pages[name].all("a")]

    @cached_property
    def clicks(self) -> dict[str, int]:
        """How many clicks each page is from the first one."""
        clicks, reached = {self.first: 0}, [self.first]
        for name in reached:
            for target, _ in self.links(name):
                if target not in clicks:
                    clicks[target] = clicks[name] + 1
                    reached.append(target)
        return clicks

    def _target(self, name: str, href: str) -> tuple[str, str]:
        parts = urlsplit(href)
        assert not parts.scheme, href
        assert not parts.netloc, href
        assert not parts.path.startswith("/"), href
        path = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(parts.path))) if parts.path else name
        return path, unquote(parts.fragment)
