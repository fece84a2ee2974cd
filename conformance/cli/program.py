"""Parses the command line and calls a command.  Each command is a module whose `add` registers its function.

The harness's own stand in `conformance.cli.commands`.  Those of packages that build on it are entry points of the group
`GROUP`, each of a function that adds one.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, NoReturn

from conformance import __version__
from conformance.cli.commands import FIRST, LAST, OWN, Command
from conformance.cli.streams import patient_streams
from conformance.errors import ConformanceError, ExitStatus, UsageError, one_line
from conformance.paths import use_own
from conformance.text import visible_line, visible_lines

if TYPE_CHECKING:
    from conformance.cli.commands import Commands

    Add = Callable[[Commands], None]

#: Each names a function that adds a command.
GROUP = "graph_conformance.commands"


class _Parser(argparse.ArgumentParser):
    """argparse exits with 2 on wrong use, which here means interrupted."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``graph-conformance``; the exit status is `conformance.errors.ExitStatus`."""
    words = sys.argv[1:] if arguments is None else arguments
    with patient_streams():
        return _status(words)


def _status(words: Sequence[str]) -> int:
    try:
        parser = _parser(words)
        options, rest = parser.parse_known_args(words)
        if rest and not options.passes_on:
            raise UsageError(f"unknown argument {rest[0]!r} (see graph-conformance --help)")
        options.rest = rest
        status: int = options.call(options)
        sys.stdout.flush()  # while a full disk can still be told of
    except ConformanceError as error:
        print(f"graph-conformance: {visible_lines(error)}", file=sys.stderr)
        return error.exit_status
    except KeyboardInterrupt:
        print("graph-conformance: interrupted", file=sys.stderr)
        return ExitStatus.INTERRUPTED
    except Exception as error:  # a mistake of the kit's own, which must not look like a verdict
        print(f"graph-conformance: the kit failed: {one_line(error)}; {_keep_traceback(error)}", file=sys.stderr)
        return ExitStatus.KIT_FAILED
    return status


def _keep_traceback(error: Exception) -> str:
    """Write the traceback of `error` to a file of its own; say where."""
    try:
        text = "".join(traceback.format_exception(error))
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", errors="backslashreplace", prefix="graph-conformance-", suffix=".txt", delete=False
        ) as file:
            file.write(text)
    except (OSError, MemoryError) as trouble:
        return f"its traceback could not be kept: {one_line(trouble)}"
    return f"its traceback is in {visible_line(file.name)}"


def _parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """What parses `words`: the command that they name, or the list of all."""
    parser: argparse.ArgumentParser = _Parser(
        prog="graph-conformance", description="Tests graph capture classes against their documents."
    )
    parser.add_argument("--version", action="version", version=f"graph-conformance {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    name = next(iter(words), "--help")
    _add_own(commands, FIRST, name)
    for add in _further(name):
        add(commands)
    _add_own(commands, LAST, name)
    return parser


def _add_own(commands: Commands, own: Mapping[str, Command], wanted: str) -> None:
    for name, (module, about) in own.items():
        if name == wanted:
            importlib.import_module(f"conformance.cli.{module}").add(commands)
        elif wanted not in OWN:  # somebody asks what there is, or for what there is not
            commands.add_parser(name, help=about)


def _further(name: str) -> list[Add]:
    """What adds the commands of other packages, unless `name` is one of the harness's: loading them takes time."""
    if name in OWN:
        return []
    entries = {entry.name: entry for entry in entry_points(group=GROUP)}
    if not entries and not name.startswith("-"):
        raise UsageError(
            f"no command {name!r}: the kit's installation is older than its code and knows no commands but "
            f"{', '.join(OWN)}; install it again"
        )
    return [_load(entry) for entry in entries.values()]


def _load(entry: EntryPoint) -> Add:
    use_own(entry.module.partition(".")[0])
    add: Add = entry.load()
    return add
