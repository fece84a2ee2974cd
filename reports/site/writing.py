"""Writes the pages into the folder of a report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from reports.site.map import FOLDERS, NAVIGATION
from reports.site.pages import Pages
from reports.site.rendering import ASSETS, Renderer, asset

#: All pages as one file, and the same as Markdown.
SINGLE = "report.html"
MARKDOWN = "report.md"

#: What may be written into the folder: files, and folders of files.
PAGES = (*(path for path, _ in NAVIGATION), SINGLE, MARKDOWN, *FOLDERS, "assets")


def site_paths(pages: Pages, *, single: bool) -> list[str]:
    """The places of all files, relative to the folder; the page to begin with is the first."""
    return [SINGLE] if single else [*pages.paths, *ASSETS]


def write_site(pages: Pages, title: str, places: Mapping[str, Path], *, single: bool) -> None:
    """Write the pages, and what they share.

    Args:
        pages: of the report.
        title: of the whole.
        places: where to write each of `site_paths`.
        single: whether they are one file.

    Raises:
        RecordError: a record was changed since it was read.
    """
    renderer = Renderer(title)
    if single:
        _write(places[SINGLE], renderer.single(pages.pages()))
        return
    for page in pages.pages():
        _write(places[page.path], renderer.page(page))
    for path in ASSETS:
        _write(places[path], asset(path))


def _write(place: Path, text: str) -> None:
    place.write_text(text, encoding="utf-8", newline="\n")
