"""``graph-conformance package``: records, and what goes with them, as one file to publish."""

from __future__ import annotations

import argparse
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.cli import verify
from conformance.cli.commands import add_command
from conformance.errors import ExitStatus, UsageError
from conformance.files import refuse_to_replace
from conformance.text import visible, visible_line

if TYPE_CHECKING:
    from conformance.cli.commands import Commands
    from conformance.packaging.making import Draft
    from conformance.packaging.redaction import Redaction

#: Changed texts that a preview shows.
_SHOWN = 200


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "package", _package)
    parser.add_argument("records", nargs="+", type=Path, metavar="RECORD", help="records of runs")
    parser.add_argument("--output", type=Path, metavar="FILE", help="the package to write, such as results.zip")
    parser.add_argument("--force", action="store_true", help="replace the file if it exists")
    parser.add_argument("--report", type=Path, metavar="DIR", help="add the pages that report wrote there")
    parser.add_argument(
        "--waivers", type=Path, action="append", default=[], metavar="FILE", help="add a waiver file; repeatable"
    )
    parser.add_argument(
        "--without-claim",
        action="store_true",
        help="package records, too, that are incomplete or of a part of the suites",
    )
    redact = parser.add_mutually_exclusive_group()
    redact.add_argument(
        "--redact",
        action="append",
        default=[],
        metavar="NAME",
        help="take this name out of the records, besides paths, addresses and the names of this machine; repeatable",
    )
    redact.add_argument("--no-redact", action="store_true", help="leave the records as their runs wrote them")
    parser.add_argument("--preview", action="store_true", help="show what would be published, and write nothing")


def _package(options: argparse.Namespace) -> int:
    from conformance.packaging.making import drafted, write_package
    from conformance.packaging.redaction import Redaction, own_names

    if not options.preview and options.output is None:
        raise UsageError("--output=FILE is missing, the package to write (or --preview, to see what would be in it)")
    if not options.preview:
        refuse_to_replace("--output", options.output, force=options.force)
    redaction: Redaction | None = None if options.no_redact else Redaction([*own_names(), *options.redact])
    with drafted(
        options.records,
        redaction=redaction,
        report=options.report,
        waivers=options.waivers,
        without_claim=options.without_claim,
    ) as draft:
        if options.preview:
            _show(draft)
            return ExitStatus.CONFORMING
        verify.show(write_package(draft, options.output))
    print(f"written:  {visible_line(options.output)}")
    return ExitStatus.CONFORMING


def _show(draft: Draft) -> None:
    """Print the manifest, and each text that is published in another form than the records have it."""
    print(visible(draft.manifest.to_bytes().decode()), end="")
    changes = {} if draft.redaction is None else draft.redaction.changes
    for before, after in islice(changes.items(), _SHOWN):
        print("".join(f"- {line}\n" for line in visible(before).splitlines()), end="")
        print("".join(f"+ {line}\n" for line in visible(after).splitlines()), end="")
    if len(changes) > _SHOWN:
        print(f"and {len(changes) - _SHOWN:,} more texts that change")
    print("everything else of the records is published as it stands; nothing was written")
