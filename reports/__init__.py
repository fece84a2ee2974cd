"""Reports: what people read, made from records, a self-check's table and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from conformance.errors import RecordError, one_line
from conformance.records.record import Record, read_record
from conformance.selfcheck.reading import read_table
from reports.html import to_html
from reports.markdown import to_markdown
from reports.model import build

__all__ = ["write"]


def write(records: Sequence[Path], output: Path, self_check: Path | None = None) -> list[Path]:
    """Write ``report.html`` and ``report.md``, one column for each record, into the folder `output`.

    Args:
        records: files that runs have written; one that was cut short is reported as incomplete.
        output: a folder; made when it is not there.
        self_check: a file with what ``graph-conformance self-check --json`` printed, to be shown too.

    Returns:
        The files written.

    Raises:
        RecordError: no record was named, one or the table cannot be read, or `output` cannot be written.  All are read
            before anything is written, so a refusal leaves an earlier report as it was.
    """
    if not records:
        raise RecordError("a report needs at least one record")
    report = build([_read(path) for path in records], None if self_check is None else read_table(self_check))
    pages = {output / "report.html": to_html(report), output / "report.md": to_markdown(report)}
    try:
        output.mkdir(parents=True, exist_ok=True)
        for path, text in pages.items():
            path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise RecordError(f"the report cannot be written to {output}: {error.strerror or error}") from None
    return list(pages)


def _read(path: Path) -> Record:
    record = read_record(path)
    try:
        # Judging is what looks into the header's values, so a revision that is none shows here, with the file's name.
        _ = record.assessment
    except (TypeError, ValueError) as error:
        raise RecordError(f"{path} is no record: {one_line(error)}") from None
    return record
