"""Reports for a browser to open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.records.record import Record
from reports import write
from tests.reports.samples import BAD, sample


@dataclass(frozen=True)
class Site:
    """The folder of a report.

    Attributes:
        folder: where it is.
        pages: their paths in the folder, the one to begin with first.
    """

    folder: Path
    pages: tuple[str, ...]

    def address(self, page: str) -> str:
        """Of a page, as a file of this machine."""
        return (self.folder / page).as_uri()


def site_of(records: Sequence[Record], folder: Path) -> Site:
    """Write the report of `records`."""
    first = write(records, folder)[0].name
    names = {file.relative_to(folder).as_posix() for file in folder.rglob("*.html")}
    return Site(folder, (first, *sorted(names - {first})))


def small_site(folder: Path) -> Site:
    """A report with every kind of page."""
    records = [sample(folder / "good.jsonl"), sample(folder / "bad.jsonl", BAD, implementation="broken.Graph")]
    return site_of(records, folder / "report")
