"""The files of a report: made, put into their folder, and those of an earlier one removed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path

from conformance.files import moved_into_place
from conformance.records.record import Record
from conformance.selfcheck.reading import read_table
from reports.earlier import files_of, remove
from reports.formats.folder import NAMES, paths_of, write_files
from reports.formats.runs import runs_of
from reports.markdown import to_markdown
from reports.model import build
from reports.site.pages import Pages, latest_day
from reports.site.writing import MARKDOWN, PAGES, site_paths, write_site

#: What a report writes into its folder: files, and folders of files.
FILES = (*NAMES, *PAGES)


def write_report(
    records: Sequence[Record], output: Path, self_check: Path | None, *, single: bool, day: date | None
) -> list[Path]:
    """As `reports.write`, of at least one record."""
    report = build(records, None if self_check is None else read_table(self_check))
    runs = runs_of(report.columns, records)
    pages = Pages(report, runs, day or latest_day(records))
    earlier = files_of(output, FILES)
    paths = [*site_paths(pages, single=single), MARKDOWN, *paths_of(runs)]
    with moved_into_place(*(output / path for path in paths)) as parts:
        places = dict(zip(paths, parts, strict=True))
        write_site(pages, report.title, places, single=single)
        places[MARKDOWN].write_text(to_markdown(report, pages), encoding="utf-8", newline="\n")
        write_files(report, runs, places)
    remove(output, {path: digest for path, digest in earlier.items() if path not in places})
    return [output / paths[0], output / MARKDOWN]
