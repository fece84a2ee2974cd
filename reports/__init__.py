"""Reports: what people and programs read, made from records, a self-check's table and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.errors import RecordError

if TYPE_CHECKING:
    from conformance.records.record import Record

__all__ = ["write"]


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
    # Only now: the command's help must not wait for it.
    from reports.files import write_report

    if not records:
        raise RecordError("a report needs at least one record")
    return write_report(records, output, self_check, single=single, day=day)
