"""``graph-conformance report``: what people and programs read, made from records.

The command line finds it by its entry point, since the harness knows nothing of reports.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.cli.commands import add_command
from conformance.cli.refusals import add_skip_refused, tell_refused
from conformance.errors import ExitStatus, RecordError
from conformance.files import refuse_to_replace
from conformance.text import visible_line

if TYPE_CHECKING:
    from conformance.cli.commands import Commands
    from conformance.records.record import Record


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands, "report", _report, about="Write a report from records: a site of pages, and files for programs."
    )
    parser.add_argument("records", nargs="+", type=Path, metavar="RECORD", help="records of runs")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="the folder to write to")
    parser.add_argument("--force", action="store_true", help="replace the report there if there is one")
    parser.add_argument("--single", action="store_true", help="write all pages as one file, report.html")
    parser.add_argument(
        "--as-of", type=_day, metavar="DATE", help="count the days of waivers from here (default: the latest run's day)"
    )
    add_skip_refused(parser)
    parser.add_argument(
        "--self-check", type=Path, metavar="FILE", help="show what the suites detect: the output of self-check --json"
    )


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no day such as 2026-01-31") from None


def _report(options: argparse.Namespace) -> int:
    # Only now: the help text, which this module is loaded for, must not wait for what makes the pages.
    import reports
    from reports.files import FILES

    for name in FILES:
        refuse_to_replace("--output", options.output / name, force=options.force)
    with _few_collections():
        records, refused = _read(options)
        tell_refused(refused, len(options.records))
        pages: list[Path] = reports.write(
            records, options.output, options.self_check, single=options.single, day=options.as_of
        )
    for record in records:
        print(f"record:  {visible_line(record.path)}")
        print(f"verdict: {visible_line(record.claim.line)}")
        for remark in record.remarks:
            print(f"note:    {visible_line(remark)}")
    # The first one written is the page to begin with.
    print(f"report:  {visible_line(pages[0] if pages else options.output)}")
    return ExitStatus.USAGE if refused else ExitStatus.CONFORMING


@contextlib.contextmanager
def _few_collections() -> Iterator[None]:
    """Look for cycles rarely: what is read of records has none, and would be looked through again and again."""
    usual = gc.get_threshold()
    gc.set_threshold(200_000, 50, 50)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def _read(options: argparse.Namespace) -> tuple[list[Record], list[str]]:
    """The records, and why others are left out."""
    from conformance.records.record import read_record

    records, refused = [], []
    for path in options.records:
        try:
            records.append(read_record(path))
        except RecordError as error:
            if not options.skip_refused:
                raise
            refused.append(str(error))
    return records, refused
