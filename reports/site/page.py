"""A page, and how it names its parts and other pages."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass


@dataclass(frozen=True)
class Page:
    """One page of the site.

    Attributes:
        path: where it stands, relative to the site's folder.
        title: its heading.
        template: of its body.
        content: what the template shows, as `content`.
    """

    path: str
    title: str
    template: str
    content: object


#: By the number of folders that a page stands in.
_ABOVE = tuple("../" * number for number in range(4))


class Site:
    """Pages that are files of their own."""

    def href(self, source: str, target: str, fragment: str = "") -> str:
        """What leads from the page `source` to a place in the page `target`."""
        path = _ABOVE[source.count("/")] + target
        return f"{path}#{fragment}" if fragment else path

    def anchor(self, source: str, fragment: str) -> str:  # noqa: ARG002 - the other kind of site needs it
        """The id of a place in the page `source`."""
        return fragment


class Single(Site):
    """Pages that are sections of one file."""

    def href(self, source: str, target: str, fragment: str = "") -> str:  # noqa: ARG002 - all are in one file
        return "#" + self.anchor(target, fragment)

    def anchor(self, source: str, fragment: str) -> str:
        stem = posixpath.splitext(source)[0].replace("/", "--")
        return f"{stem}--{fragment}" if fragment else stem
