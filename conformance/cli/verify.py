"""``graph-conformance verify``: whether a package is what it says."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.cli.commands import add_command
from conformance.errors import ExitStatus
from conformance.text import visible_line

if TYPE_CHECKING:
    from conformance.cli.commands import Commands
    from conformance.packaging.verifying import Verification

#: What no package can show.
_UNPROVEN = (
    "that the runs took place, that the class, the device and the day are those that are named, that the results were "
    "not invented, that a report's pages say what the records say, that nothing personal is left: for that, believe "
    "who published it, or run the suites again"
)


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "verify", _verify)
    parser.add_argument("package", type=Path, metavar="FILE", help="a package that graph-conformance package wrote")


def _verify(options: argparse.Namespace) -> int:
    from conformance.packaging.verifying import verify

    verification = verify(options.package)
    show(verification)
    print(f"sound:    {visible_line(options.package)}: each file is the one that is listed, and no other is there")
    print(f"unproven: {_UNPROVEN}")
    return ExitStatus.NOT_CONFORMING if verification.manifest.without_claim else ExitStatus.CONFORMING


def show(verification: Verification) -> None:
    """Print what is in a package."""
    manifest = verification.manifest
    for entry in manifest.records:
        print(f"record:   {entry.file}")
        print(f"verdict:  {visible_line(entry.outcome)}")
        for note in verification.notes.get(entry.file, ()):
            print(f"note:     {visible_line(note)}")
    if manifest.redaction is None:
        print("redacted: nothing: the records are as their runs wrote them")
    else:
        counts = ", ".join(f"{visible_line(kind)} {count:,}" for kind, count in manifest.redaction.items())
        print(f"redacted: {counts}; the chains of the records were made again afterwards")
    number = len(manifest.files)
    print(f"package:  {number:,} file{'' if number == 1 else 's'} and the manifest, SHA-256 {verification.sha256}")
