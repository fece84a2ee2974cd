"""``graph-conformance compare``: what became better and worse from one record to another."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.cli.commands import add_command
from conformance.comparing.comparison import compare
from conformance.comparing.text import data_of, text_of

if TYPE_CHECKING:
    from conformance.cli.commands import Commands


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "compare", _compare)
    parser.add_argument("old", type=Path, metavar="OLD", help="the record to compare with, such as the published one")
    parser.add_argument("new", type=Path, metavar="NEW", help="the record to look at")
    parser.add_argument("--json", action="store_true", help="print the same as one JSON object")


def _compare(options: argparse.Namespace) -> int:
    comparison = compare(options.old, options.new)
    print(json.dumps(data_of(comparison), indent=2) if options.json else text_of(comparison))
    return comparison.exit_status
