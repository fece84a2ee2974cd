"""Records that a command leaves out because it refuses them, where it was asked to go on with the others."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from conformance.text import visible_line


def add_skip_refused(parser: argparse.ArgumentParser) -> None:
    """Add the option that asks for that."""
    parser.add_argument(
        "--skip-refused",
        action="store_true",
        help="leave out each record that is refused, with a line that says why; the exit status stays 4",
    )


def tell_refused(refused: Sequence[str], given: int) -> None:
    """Say why records were refused, each in a line, and how many of those `given` are left out."""
    for reason in refused:
        print(f"graph-conformance: {visible_line(reason)}", file=sys.stderr)
    if refused:
        print(f"left out: {len(refused)} of {given} records, which were refused")
