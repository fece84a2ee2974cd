"""``graph-conformance report``: what people read, made from records.

The command line finds it by its entry point, since the harness knows nothing of reports.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.cli.commands import add_command
from conformance.errors import ExitStatus, UsageError
from conformance.records.record import read_record
from conformance.text import visible_line

if TYPE_CHECKING:
    from conformance.cli.commands import Commands


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "report", "Write a report from records.", _report)
    parser.add_argument("records", nargs="+", type=Path, metavar="RECORD", help="records of runs")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="the folder to write to")
    parser.add_argument(
        "--self-check", type=Path, metavar="FILE", help="show what the suites detect: the output of self-check --json"
    )


def _report(options: argparse.Namespace) -> int:
    import reports

    records = [read_record(path) for path in options.records]
    try:
        options.output.mkdir(parents=True, exist_ok=True)
        pages: list[Path] = reports.write(records, options.output, options.self_check)
    except OSError as error:
        file = error.filename or options.output
        raise UsageError(f"the report {file} cannot be written: {error.strerror or error}") from None
    for record in records:
        print(f"record:  {visible_line(record.path)}")
        print(f"verdict: {visible_line(record.claim.line)}")
        for remark in record.remarks:
            print(f"note:    {visible_line(remark)}")
    # The first one written is the page to begin with.
    print(f"report:  {visible_line(pages[0] if pages else options.output)}")
    return ExitStatus.CONFORMING
