"""``graph-conformance merge``: one record from those of shards."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.cli.commands import add_command
from conformance.cli.refusals import add_skip_refused, tell_refused
from conformance.errors import ExitStatus
from conformance.files import refuse_to_replace
from conformance.records.merge import merge
from conformance.text import visible_line
from conformance.waivers.checking import RecordedWaivers

if TYPE_CHECKING:
    from conformance.cli.commands import Commands


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "merge", _merge)
    parser.add_argument("records", nargs="+", type=Path, metavar="RECORD", help="the records of all shards")
    parser.add_argument("--output", type=Path, required=True, metavar="FILE", help="the record to write")
    parser.add_argument("--force", action="store_true", help="replace the file if it exists")
    add_skip_refused(parser)


def _merge(options: argparse.Namespace) -> int:
    refuse_to_replace("--output", options.output, force=options.force)
    refused: list[str] | None = [] if options.skip_refused else None
    try:
        record = merge(options.records, options.output, RecordedWaivers, refused)
    finally:
        tell_refused(refused or (), len(options.records))
    print(f"record:  {visible_line(record.path)}")
    print(f"verdict: {visible_line(record.claim.line)}")
    for remark in record.remarks:
        print(f"note:    {visible_line(remark)}")
    if record.footer is None:
        return ExitStatus.USAGE
    for problem in record.footer.waiver_problems:
        print(f"waiver:  {visible_line(problem)}")
    return ExitStatus.USAGE if refused else record.footer.exit_status
