"""``python -m tools.mutants plan | run | table``: see the package."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from conformance.errors import ConformanceError
from conformance.paths import SUITES
from tools.mutants.plan import ROOT, Plan, PlanError, check_part, chosen, reference_modules
from tools.mutants.results import Outcome, Results, Writer
from tools.mutants.table import EXPLAINED, as_markdown, explanations


def main() -> int:
    """Carry out what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    commands = parser.add_subparsers(required=True)

    plan = commands.add_parser("plan", help="make mutants; needs mutmut")
    plan.add_argument("modules", nargs="*", metavar="FILE", help="from the checkout's root on (default: the reference)")
    plan.add_argument("--output", required=True, type=Path, metavar="FILE")
    plan.set_defaults(command=_plan)

    run = commands.add_parser("run", help="run the suites against them")
    run.add_argument("plan", type=Path)
    run.add_argument("--output", required=True, type=Path, metavar="FILE", help="JSON lines, written as they come")
    run.add_argument("--processes", type=int, default=2, metavar="N", help="how many at a time (default 2)")
    run.add_argument("--part", default="1/1", metavar="I/N", help="only the I-th of N parts")
    run.add_argument("--limit", type=int, metavar="N", help="only so many of them")
    run.add_argument("--skip", action="append", default=[], type=Path, metavar="FILE", help="what has a result there")
    run.add_argument("--survivors", action="append", default=[], type=Path, metavar="FILE", help="only those of there")
    run.add_argument("--module", action="append", default=[], metavar="FILE", help="only this module's; repeatable")
    run.add_argument("--budget", type=float, default=120.0, metavar="S", help="seconds of tests for each (default 120)")
    run.add_argument("--test-limit", type=float, default=10.0, metavar="S", help="seconds for a test (default 10)")
    run.add_argument("--impl", action="append", default=[], metavar="NAME", help="instead of the module's usual ones")
    run.add_argument("--suites", type=Path, default=SUITES, metavar="PATH", help="only these tests")
    run.add_argument("--reach", type=Path, metavar="FILE", help="keep there which tests run which lines, for next time")
    run.set_defaults(command=_run)

    table = commands.add_parser("table", help="sum results up")
    table.add_argument("results", nargs="+", type=Path)
    table.add_argument("--markdown", type=Path, metavar="FILE", help="write it there instead of printing it")
    table.add_argument("--plan", type=Path, metavar="FILE", help="only the mutants of this plan")
    table.add_argument("--explained", type=Path, default=EXPLAINED, metavar="FILE")
    table.set_defaults(command=_table)

    arguments = parser.parse_args()
    try:
        arguments.command(arguments)
    except (PlanError, ConformanceError) as error:
        print(error, file=sys.stderr)
        return 4
    return 0


def _plan(arguments: argparse.Namespace) -> None:
    from tools.mutants.generate import plan  # only here: the other commands do without mutmut

    mutant_plan = plan(ROOT, arguments.modules or reference_modules())
    mutant_plan.write(arguments.output)
    for module, counted in mutant_plan.totals().items():
        print(f"{module}: {counted['mutants']} mutants, {counted['runnable']} of them in functions")


def _run(arguments: argparse.Namespace) -> None:
    from tools.mutants.execution import Settings, run_mutants, surroundings  # only here: it imports torch

    plan = Plan.read(arguments.plan)
    if arguments.module:
        plan = plan.of(arguments.module)
    results = Results.read(arguments.skip).by_id
    again = Results.read(arguments.survivors).by_id.values()
    open_ones = {result.id for result in again if result.outcome not in {Outcome.KILLED, Outcome.TIMEOUT}}
    part = plan.part(*check_part(arguments.part))
    mutants = chosen(part, open_ones if arguments.survivors else None, set(results))[: arguments.limit]
    if arguments.output in arguments.skip:
        whole = arguments.output.read_bytes()
        os.truncate(arguments.output, whole.rfind(b"\n") + 1)  # a line without an end was cut off
    with arguments.output.open("a" if arguments.output in arguments.skip else "w", encoding="utf-8") as stream:
        writer = Writer(stream, plan, surroundings())
        settings = Settings(
            processes=arguments.processes,
            limit_s=arguments.test_limit,
            budget_s=arguments.budget,
            suites=arguments.suites,
            implementations=tuple(arguments.impl),
            reach=arguments.reach,
        )
        terminal = sys.stderr  # what is printed while the suites run goes elsewhere
        run_mutants(plan, mutants, settings, writer.write, lambda line: print(line, file=terminal, flush=True))


def _table(arguments: argparse.Namespace) -> None:
    results = Results.read(arguments.results)
    if arguments.plan is not None:
        results = results.of(Plan.read(arguments.plan))
    page = as_markdown(results, explanations(arguments.explained))
    if arguments.markdown is None:
        print(page, end="")
    else:
        arguments.markdown.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
