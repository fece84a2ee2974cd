"""Reports: what people and programs read, made from records, a self-check's table and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path

from conformance.errors import RecordError
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

__all__ = ["FILES", "write"]

#: What a report writes into its folder: files, and folders of files.
FILES = (*NAMES, *PAGES)


def write(
    records: Sequence[Record],
    output: Path,
    self_check: Path | None = None,
    *,
    single: bool = False,
    day: date | None = None,
) -> list[Path]:
    """Write the pages, one column for each record, and what programs read into the folder `output`.

    ``docs/reports.md`` says what the pages show, ``docs/formats.md`` what the other files hold.

    Args:
        records: of runs, as `conformance.records.record.read_record` reads them; one that was cut short says so.
        output: a folder; made when it is not there.
        self_check: a file with what ``graph-conformance self-check --json`` printed, to be shown too.
        single: whether all pages are one file that needs no other.
        day: that the days of waivers are counted from; by default the day of the latest run.

    Files of an earlier report that this one has not are removed, if they are as that report wrote them.

    Returns:
        The page to begin with, and the same as Markdown; ``index.json`` beside them names all files.

    Raises:
        RecordError: there is no record, one was changed since it was read, or the table cannot be read.
        UsageError: `output` is none that can be written.
        WriteError: the disk is full.  Whatever is raised, an earlier report is as it was.

    >>> import tempfile
    >>> from conformance.records.header import Header
    >>> from conformance.records.record import read_record
    >>> from conformance.records.writer import RecordWriter
    >>> header = Header(
    ...     implementation="vendor", dialect="cuda", revision="2.14", capabilities={}, environment={}, options={},
    ...     planned=0, not_applicable=0, narrowed=False, requirements=(), kit_version="0.1.0", suite_digest="",
    ...     started_at="2026-01-01T12:00:00+00:00",
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     writer = RecordWriter(Path(folder, "vendor.jsonl"))
    ...     writer.header(header, {})
    ...     writer.close()
    ...     pages = write([read_record(writer.path)], Path(folder))
    ...     text = pages[1].read_text(encoding="utf-8")
    >>> [page.name for page in pages]
    ['index.html', 'report.md']
    >>> text.splitlines()[0]
    '# Graph capture conformance: vendor'
    """
    if not records:
        raise RecordError("a report needs at least one record")
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
