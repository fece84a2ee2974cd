"""Parses the command line and calls a command.  Each command is a module whose `add` registers its function."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from conformance import __version__
from conformance.cli import doctor, listing, merge, report, requirements, run, self_check
from conformance.errors import ConformanceError, ExitStatus, UsageError

_COMMANDS = (run, report, merge, requirements, listing, doctor, self_check)


class _Parser(argparse.ArgumentParser):
    """argparse exits with 2 on wrong use, which here means interrupted."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``graph-conformance``; the exit status is `conformance.errors.ExitStatus`."""
    parser = _Parser(prog="graph-conformance", description="Tests graph capture classes against their documents.")
    parser.add_argument("--version", action="version", version=f"graph-conformance {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)
    for command in _COMMANDS:
        command.add(commands)
    try:
        options, rest = parser.parse_known_args(arguments)
        if rest and not options.passes_on:
            raise UsageError(f"unknown argument {rest[0]!r} (see graph-conformance --help)")
        options.rest = rest
        status: int = options.call(options)
    except ConformanceError as error:
        print(f"graph-conformance: {error}", file=sys.stderr)
        return error.exit_status
    except KeyboardInterrupt:
        print("graph-conformance: interrupted", file=sys.stderr)
        return ExitStatus.INTERRUPTED
    return status
