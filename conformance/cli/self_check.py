"""``graph-conformance self-check``: what the suites detect, and that they accept what is correct."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.cli.commands import add_command
from conformance.errors import ExitStatus, UsageError
from conformance.selfcheck.catalogue import FAULTS, VARIANTS

if TYPE_CHECKING:
    from conformance.cli.commands import Commands


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "self-check",
        "Run the suites against implementations that are wrong on purpose, and against correct ones that differ.",
        _self_check,
    )
    parser.add_argument("--fault", action="append", default=[], metavar="NAME", help="only this fault; repeatable")
    parser.add_argument("--variant", action="append", default=[], metavar="NAME", help="only this variant; repeatable")
    parser.add_argument("--faults", default=FAULTS, metavar="MODULE", help=f"where FAULTS stands (default {FAULTS})")
    parser.add_argument(
        "--variants", default=VARIANTS, metavar="MODULE", help=f"where VARIANTS stands (default {VARIANTS})"
    )
    parser.add_argument("--json", action="store_true", help="print the table as JSON")
    parser.add_argument("--markdown", metavar="FILE", help="write the table there, as a page")
    parser.add_argument("--processes", type=int, default=2, metavar="N", help="how many tests at a time (default 2)")
    parser.add_argument(
        "--seeds", type=int, default=1, metavar="N", help="run the variants N times, with other random examples each"
    )


def _self_check(given: argparse.Namespace) -> int:
    if given.processes < 1 or given.seeds < 1:
        raise UsageError("--processes and --seeds take numbers from 1 on")
    if not hasattr(os, "fork"):
        raise UsageError("self-check forks, which this system cannot")
    # Only now: the help text must not wait for torch.
    from conformance.selfcheck.check import Request, check
    from conformance.selfcheck.table import as_markdown, as_text

    request = Request(
        faults=given.faults,
        variants=given.variants,
        only_faults=tuple(given.fault),
        only_variants=tuple(given.variant),
        processes=given.processes,
        seeds=given.seeds,
    )
    table, abouts = check(request, _say)
    if given.markdown is not None:
        Path(given.markdown).write_text(as_markdown(table, abouts), encoding="utf-8")
    print(json.dumps(table.to_dict(), indent=1) if given.json else as_text(table))
    return ExitStatus.CONFORMING if table.good else ExitStatus.NOT_CONFORMING


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
