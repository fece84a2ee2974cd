"""``graph-conformance merge``: one record from those of shards."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.cli.commands import add_command
from conformance.errors import UsageError
from conformance.records.merge import merge
from conformance.text import visible_line
from conformance.waivers.checking import RecordedWaivers

if TYPE_CHECKING:
    from conformance.cli.commands import Commands


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "merge", "Join the records of shards into the record of one run.", _merge)
    parser.add_argument("records", nargs="+", type=Path, metavar="RECORD", help="the records of all shards")
    parser.add_argument("--output", type=Path, required=True, metavar="FILE", help="the record to write")
    parser.add_argument("--force", action="store_true", help="replace the file if it exists")


def _merge(options: argparse.Namespace) -> int:
    if options.output.exists() and not options.force:
        raise UsageError(f"--output={options.output} exists: --force replaces it")
    record = merge(options.records, options.output, RecordedWaivers)
    assert record.footer is not None
    print(f"record:  {visible_line(record.path)}")
    print(f"verdict: {visible_line(record.claim.line)}")
    for problem in record.footer.waiver_problems:
        print(f"waiver:  {visible_line(problem)}")
    return record.footer.exit_status
