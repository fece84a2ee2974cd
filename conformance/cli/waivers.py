"""``graph-conformance waivers``: a waiver file to fill in, from a record's failures."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.cli.commands import add_command
from conformance.errors import ExitStatus, UsageError
from conformance.text import visible
from conformance.waivers.clock import today
from conformance.waivers.starting import start_of

if TYPE_CHECKING:
    from conformance.cli.commands import Commands


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "waivers", _write)
    parser.add_argument("record", type=Path, metavar="RECORD", help="of the run that failed")
    parser.add_argument("--output", type=Path, metavar="FILE", help="the file to write, which must not exist")


def _write(options: argparse.Namespace) -> int:
    text = start_of(options.record, today())
    if not text:
        print(f"nothing to waive: no failure in {options.record}", file=sys.stderr)
    elif options.output is None:
        print(visible(text), end="")
    else:
        _create(options.output, text)
        print(f"written: {options.output}; fill in each reason, link and owner")
    return ExitStatus.CONFORMING


def _create(file: Path, text: str) -> None:
    try:
        # Never over another one: what people have filled in is in no record.
        with file.open("x", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
    except OSError as error:
        raise UsageError(f"--output={file} cannot be written: {error.strerror or error}") from None
