"""``graph-conformance self-check``: what the suites detect, and that they accept what is correct."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.cli.commands import add_command
from conformance.errors import ExitStatus, KitError, UsageError
from conformance.selfcheck.catalogue import FAULTS, VARIANTS
from conformance.session.options import EXPLORING, positive

if TYPE_CHECKING:
    from conformance.cli.commands import Commands
    from conformance.selfcheck.outcomes import Row
    from conformance.selfcheck.table import Table


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "self-check", _self_check)
    parser.add_argument("--fault", action="append", default=[], metavar="NAME", help="only this fault; repeatable")
    parser.add_argument("--variant", action="append", default=[], metavar="NAME", help="only this variant; repeatable")
    parser.add_argument("--faults", default=FAULTS, metavar="MODULE", help=f"where FAULTS stands (default {FAULTS})")
    parser.add_argument(
        "--variants", default=VARIANTS, metavar="MODULE", help=f"where VARIANTS stands (default {VARIANTS})"
    )
    parser.add_argument("--json", action="store_true", help="print the table as JSON")
    parser.add_argument("--markdown", metavar="FILE", help="write the table there, as a page")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="do not search for what else rejects a fault that its requirements let pass",
    )
    parser.add_argument(
        "--area",
        action="append",
        default=[],
        metavar="AREA",
        help="only the tests of this area, each of which may kill a fault: what it detects alone; repeatable",
    )
    parser.add_argument(
        "--processes",
        type=int,
        # Tests wait at times: for a thread, for a callback that does not come.
        default=_processors() + 1,
        metavar="N",
        help="how many tests at a time (by default one more than there are processors)",
    )
    parser.add_argument("--explore", type=int, metavar="SEED", help="let property tests draw new examples")
    parser.add_argument(
        "--examples",
        type=float,
        default=EXPLORING,
        metavar="TIMES",
        help=f"how many times as many as usual there are when they are new (default {EXPLORING:g})",
    )
    parser.add_argument(
        "--distortions",
        action="store_true",
        help="instead of the catalogues, mechanical changes of each documented member, made from its signature",
    )
    parser.add_argument(
        "--distortion",
        action="append",
        default=[],
        metavar="PATTERN",
        help="only those distortions, such as 'reference.xpu/replay-*'; repeatable",
    )
    parser.add_argument(
        "--pairs",
        type=int,
        default=0,
        metavar="N",
        help="instead of the catalogues, N pairs of faults at a time, from different areas",
    )
    parser.add_argument(
        "--seeds", type=int, default=0, metavar="N", help="run the variants N times more, with new examples each time"
    )


def _processors() -> int:
    """How many this process may use."""
    usable = getattr(os, "sched_getaffinity", None)
    return (os.cpu_count() or 1) if usable is None else len(usable(0))


def _self_check(options: argparse.Namespace) -> int:
    if options.processes < 1 or options.seeds < 0:
        raise UsageError("--processes takes a number from 1 on, --seeds one from 0 on")
    positive("--examples", options.examples, "a number")
    if options.examples != EXPLORING and options.explore is None and not options.seeds:
        raise UsageError(f"--examples={options.examples:g} is for new examples: add --explore or --seeds")
    if options.pairs < 0:
        raise UsageError("--pairs takes a number from 0 on")
    if not hasattr(os, "fork"):
        raise UsageError("self-check forks, which this system cannot")
    if options.distortions or options.distortion or options.pairs:
        return _mechanical(options)
    # Only now: the help text must not wait for torch.
    from conformance.selfcheck.check import Request, check
    from conformance.selfcheck.table import as_markdown

    request = Request(
        faults=options.faults,
        variants=options.variants,
        only_faults=tuple(options.fault),
        only_variants=tuple(options.variant),
        processes=options.processes,
        explore=options.explore,
        examples=options.examples,
        search=not options.quick,
        areas=tuple(options.area),
    )
    terminal = sys.stderr  # while the suites are collected and run, what pytest prints goes elsewhere
    table = check(request, lambda line: print(line, file=terminal, flush=True))
    variants = dict.fromkeys(row.name for row in table.of("variant"))
    for seed in range(1, options.seeds + 1) if variants else ():
        table = table.with_rows(_rows_of_seed(options, list(variants), seed))
    if options.markdown is not None:
        Path(options.markdown).write_text(as_markdown(table), encoding="utf-8")
    return _told(options, table)


def _mechanical(options: argparse.Namespace) -> int:
    """Check distortions and pairs of faults."""
    if options.fault or options.variant or options.area or options.explore is not None or options.seeds:
        raise UsageError("--distortions and --pairs go with --faults, --processes, --json and --markdown only")
    from conformance.selfcheck.distortions.page import as_page
    from conformance.selfcheck.mechanical import Request, check

    request = Request(
        distortions=options.distortions or bool(options.distortion),
        patterns=tuple(options.distortion),
        pairs=options.pairs,
        faults=options.faults,
        processes=options.processes,
    )
    terminal = sys.stderr
    table = check(request, lambda line: print(line, file=terminal, flush=True))
    if options.markdown is not None:
        Path(options.markdown).write_text(as_page(table), encoding="utf-8")
    return _told(options, table)


def _told(options: argparse.Namespace, table: Table) -> int:
    """Print the table; the exit status that it stands for."""
    from conformance.selfcheck.table import as_text, verdict

    if options.json:
        print(json.dumps(table.to_dict(), indent=1))
        print(verdict(table), file=sys.stderr)
    else:
        print(as_text(table))
    return ExitStatus.CONFORMING if table.good else ExitStatus.NOT_CONFORMING


def _rows_of_seed(options: argparse.Namespace, variants: list[str], seed: int) -> list[Row]:
    """The rows of the variants with the examples of `seed`.

    A process of its own: how many examples a test draws is settled when its module is imported.
    """
    from conformance.selfcheck.outcomes import Row

    words = ["self-check", "--json", f"--explore={seed}", f"--examples={options.examples:g}"]
    words += [f"--variants={options.variants}"]
    words += [f"--area={area}" for area in options.area]
    words += [f"--processes={options.processes}", *(f"--variant={name}" for name in variants)]
    start = "import sys; from conformance.cli import main; sys.exit(main(sys.argv[1:]))"
    process = subprocess.run(  # noqa: S603  # this program again
        [sys.executable, "-c", start, *words], stdout=subprocess.PIPE, text=True, check=False
    )
    if process.returncode not in {ExitStatus.CONFORMING, ExitStatus.NOT_CONFORMING}:
        raise KitError(f"the run with the examples of {seed} ended with status {process.returncode}")
    return [Row.from_dict(row) for row in json.loads(process.stdout)["rows"]]
